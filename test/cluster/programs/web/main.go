// The tenants' web server in tests. It echoes each request, so that a test can see which pod it reached, under which
// host, by which protocol, and whether path and query survived. STATUS is the status of its answers. It speaks HTTP/1.1
// and HTTP/2 without TLS, sends a trailer as gRPC does, and echoes one frame of a WebSocket.
package main

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
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
		if key := r.Header.Get("Sec-WebSocket-Key"); key != "" {
			echoFrame(w, key)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Trailer", "Grpc-Status")
		w.WriteHeader(status)
		fmt.Fprintf(w, "host=%s path=%s pod=%s text=%s proto=%s\n", r.Host, r.URL.RequestURI(), os.Getenv("HOSTNAME"), os.Getenv("TEXT"), r.Proto)
		w.Header().Set("Grpc-Status", "0")
	})
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Addr: ":8080", Protocols: protocols}
	log.Fatal(server.ListenAndServe())
}

// RFC 6455, sections 4.2.2 and 5.2: one masked text frame of at most 125 bytes comes back unmasked.
func echoFrame(w http.ResponseWriter, key string) {
	connection, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		log.Print(err)
		return
	}
	defer connection.Close()
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	accept := base64.StdEncoding.EncodeToString(sum[:])
	fmt.Fprintf(buffered, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept)
	buffered.Flush()
	frame := make([]byte, 131)
	if _, err := io.ReadFull(buffered, frame[:6]); err != nil {
		return
	}
	length := int(frame[1] & 0x7f)
	if length > 125 {
		return
	}
	if _, err := io.ReadFull(buffered, frame[6:6+length]); err != nil {
		return
	}
	answer := []byte{0x81, byte(length)}
	for index := range length {
		answer = append(answer, frame[6+index]^frame[2+index%4])
	}
	connection.Write(answer)
}
