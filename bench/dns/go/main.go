// The DNS check that cert-manager makes before it lets a certificate authority validate: its own package, unchanged.
//
//	verifier cname|txt RESOLVER FILE
//
// txt is its check unchanged: the TXT record _acme-challenge.HOST has the value at all name servers of its zone. cname
// is the same check for the CNAME of the host. cert-manager's TXT check is not exported and supports no other type. The
// functions that it calls (DNSQuery, FindZoneByFqdn) are exported and support any type, so cname calls them in the same
// order, with the same comparisons. If a CNAME points to another CNAME, the next name is checked in the same way.
//
// Reads questions from FILE as verifier.ts does, answers 32 at a time, and prints each answer.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cert-manager/cert-manager/pkg/issuer/acme/dns/util"
	"github.com/miekg/dns"
)

const (
	maxHops  = 8
	inFlight = 32
)

type question struct {
	Host     string `json:"host"`
	Target   string `json:"target"`
	TxtValue string `json:"txtValue"`
}

type said struct {
	Host   string  `json:"host"`
	Answer string  `json:"answer"`
	Ms     float64 `json:"ms"`
}

type check func(ctx context.Context, q question, resolvers []string) (bool, error)

var checks = map[string]check{"cname": checkCNAME, "txt": checkTXT}

func checkTXT(ctx context.Context, q question, resolvers []string) (bool, error) {
	return util.PreCheckDNS(ctx, util.ToFqdn("_acme-challenge."+q.Host), q.TxtValue, resolvers, true)
}

func checkCNAME(ctx context.Context, q question, resolvers []string) (bool, error) {
	target := util.ToFqdn(q.Target)
	name := util.ToFqdn(q.Host)
	for range maxHops {
		servers, err := lookupNameservers(ctx, name, resolvers)
		if err != nil {
			return false, err
		}
		next, err := commonCNAME(ctx, name, servers)
		if err != nil || next == "" || strings.EqualFold(next, target) {
			return strings.EqualFold(next, target), err
		}
		name = next
	}
	return false, errors.New("the chain is too long")
}

// commonCNAME queries one server after another, as checkAuthoritativeNss does. It is empty if a server has no CNAME or
// a different one.
func commonCNAME(ctx context.Context, name string, servers []string) (string, error) {
	common := ""
	for _, server := range servers {
		r, err := util.DNSQuery(ctx, name, dns.TypeCNAME, []string{server}, true)
		if err != nil {
			return "", err
		}
		if r.Rcode != dns.RcodeSuccess && r.Rcode != dns.RcodeNameError {
			return "", fmt.Errorf("%s returned %s for %s", server, dns.RcodeToString[r.Rcode], name)
		}
		target := cnameOf(r, name)
		if target == "" || (common != "" && !strings.EqualFold(target, common)) {
			return "", nil
		}
		common = target
	}
	return common, nil
}

func cnameOf(r *dns.Msg, name string) string {
	for _, rr := range r.Answer {
		if cname, ok := rr.(*dns.CNAME); ok && cname.Hdr.Name == name {
			return cname.Target
		}
	}
	return ""
}

// lookupNameservers copies cert-manager's function of the same name, which is not exported.
func lookupNameservers(ctx context.Context, name string, resolvers []string) ([]string, error) {
	zone, err := util.FindZoneByFqdn(ctx, name, resolvers)
	if err != nil {
		return nil, err
	}
	r, err := util.DNSQuery(ctx, zone, dns.TypeNS, resolvers, true)
	if err != nil {
		return nil, err
	}
	var servers []string
	for _, rr := range r.Answer {
		if ns, ok := rr.(*dns.NS); ok {
			servers = append(servers, net.JoinHostPort(strings.ToLower(ns.Ns), "53"))
		}
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("no name servers of %s", zone)
	}
	return servers, nil
}

func ask(kind check, q question, resolvers []string) said {
	started := time.Now()
	yes, err := kind(context.Background(), q, resolvers)
	answer := "no"
	if err != nil {
		answer = "unknown"
	} else if yes {
		answer = "yes"
	}
	return said{q.Host, answer, float64(time.Since(started).Microseconds()) / 1e3}
}

func main() {
	kind, known := checks[os.Args[1]]
	if !known {
		panic("the check is cname or txt")
	}
	resolver := net.JoinHostPort(os.Args[2], "53")
	// The addresses of name servers. In a cluster, its own resolver finds them.
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, resolver)
	}}
	questions := read(os.Args[3])
	answers := make([]said, len(questions))
	places := make(chan struct{}, inFlight)
	var all sync.WaitGroup
	for n, q := range questions {
		all.Go(func() {
			places <- struct{}{}
			answers[n] = ask(kind, q, []string{resolver})
			<-places
		})
	}
	all.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}

func read(path string) []question {
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	var questions []question
	if err := json.Unmarshal(text, &questions); err != nil {
		panic(err)
	}
	return questions
}
