// The HTTP-01 solver that cert-manager starts as a pod for each challenge.
package main

import (
	"flag"
	"log"

	"github.com/cert-manager/cert-manager/pkg/issuer/acme/http/solver"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
)

func main() {
	s := &solver.HTTP01Solver{}
	flag.IntVar(&s.ListenPort, "listen-port", 8089, "port to answer on")
	flag.StringVar(&s.Domain, "domain", "", "host that is being validated")
	flag.StringVar(&s.Token, "token", "", "token of the challenge")
	flag.StringVar(&s.Key, "key", "", "key authorization to answer with")
	flag.Parse()
	log.Fatal(s.Listen(logf.Log))
}
