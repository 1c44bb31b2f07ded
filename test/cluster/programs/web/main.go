// The tenants' web server in tests. It echoes each request, so that a test can see which pod it reached, under which
// host, and whether path and query survived. STATUS is the status of its answers.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
)

func main() {
	status, err := strconv.Atoi(os.Getenv("STATUS"))
	if err != nil {
		status = http.StatusOK
	}
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		fmt.Fprintf(w, "host=%s path=%s pod=%s text=%s\n", r.Host, r.URL.RequestURI(), os.Getenv("HOSTNAME"), os.Getenv("TEXT"))
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
