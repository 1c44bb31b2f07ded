// The cert-manager webhook, as upstream's cmd/webhook (a nested module that is not published) wires it.
package main

import (
	"context"
	"log"
	"os/signal"
	"syscall"

	"github.com/cert-manager/cert-manager/internal/webhook"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
	"github.com/spf13/pflag"
)

func main() {
	config, err := options.NewWebhookConfiguration()
	must(err)
	options.AddConfigFlags(pflag.CommandLine, config)
	pflag.Parse()
	must(logf.ValidateAndApply(&config.Logging))

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx = logf.NewContext(ctx, logf.Log, "webhook")
	server, err := webhook.NewCertManagerWebhookServer(logf.FromContext(ctx), *config)
	must(err)
	must(server.Run(ctx))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
