# Start here. `make` lists the targets; each one sets up what it needs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
INSTALLED := node_modules/.installed

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(INSTALLED) ## the main job on a real Kubernetes, step by step (KEEP=1 leaves it running)
	@node test/demo/demo.ts

.PHONY: console
console: $(INSTALLED) ## the console in your browser, with users and a domain of the tests (Ctrl-C stops it)
	@node test/integration/console/try.ts

.PHONY: test
test: $(INSTALLED) ## static checks, and the unit, integration, and end-to-end tests on both edges
	@$(MAKE) --no-print-directory static
	@node test/run.ts

.PHONY: test-gateway
test-gateway: $(INSTALLED) ## part of `make test`: the life of a Domain on Envoy Gateway instead of Traefik
	@node test/run.ts gateway

.PHONY: test-upgrade
test-upgrade: $(INSTALLED) ## upgrade from the last release, roll back, and upgrade again, under continuous requests (6 minutes)
	@node test/run.ts upgrade

.PHONY: check
check: $(INSTALLED) static ## run it every day: format, lint, types, generated files, licenses, commit subjects, unit tests, npm audit
	@vitest run --project unit
	@$(MAKE) --no-print-directory audit

.PHONY: static
static: $(INSTALLED)
	biome check --error-on-warnings .
	tsc
	node tools/generate-types.ts --check
	node tools/generate-values-schema.ts --check
	node tools/generate-threats.ts --check
	node tools/check-packages.ts
	node tools/check-commits.ts

# Not in `make test`: new vulnerabilities become known without a commit, so they should not fail one.
.PHONY: audit
audit: $(INSTALLED) ## known vulnerabilities of what is shipped, according to the npm registry
	@node tools/audit.ts

.PHONY: soak
soak: $(INSTALLED) ## the long loops: the same tests with SOAK=1 and those in *.soak.ts (hours; one of them, in 90 minutes or less: ONLY=crash, crash-gateway, day, dns/fuzz, failover, hostile …)
	@SOAK=1 node test/run.ts integration e2e gateway

.PHONY: bench-loop
bench-loop: $(INSTALLED) ## the runtime and its peers, and the cost of a steady state of 100 domains (20 minutes)
	node bench/loop/compare.ts 1000
	node bench/loop/idle.ts
	node bench/loop/plan.ts

# Each part also runs alone: make bench-loop-many
LARGE_PARTS := compare live shim many
.PHONY: bench-loop-large $(LARGE_PARTS:%=bench-loop-%)
bench-loop-large: $(LARGE_PARTS:%=bench-loop-%) ## the loop at its limits: 50,000 objects, 10,000 and 100,000 domains (1 to 2 hours)

bench-loop-compare: $(INSTALLED)
	node bench/loop/compare.ts 1000
	node bench/loop/compare.ts 10000
	node bench/loop/compare.ts 50000
	node bench/loop/plan.ts

bench-loop-live: $(INSTALLED)
	node bench/loop/idle.ts 0 100
	node bench/loop/idle.ts 2 10000

bench-loop-shim: $(INSTALLED)
	node bench/loop/shim.ts

bench-loop-many: $(INSTALLED)
	node bench/loop/many.ts

.PHONY: bench-dns
bench-dns: $(INSTALLED) ## DNS verdicts, compared with node:dns and cert-manager's own check (15 minutes)
	@node bench/dns/bench.ts

.PHONY: bench-messages
bench-messages: $(INSTALLED) ## durable messages per second, compared with their bounds
	@node bench/messages/bench.ts
	@node bench/messages/stores.ts

.PHONY: bench-admission
bench-admission: $(INSTALLED) ## what the admission policies cost per create, and in an idle minute
	@node bench/admission/bench.ts

.PHONY: bench-edge
bench-edge: $(INSTALLED) ## how soon Traefik and Envoy Gateway answer for a new host, with 300 and 1,000 on them (LARGE=1: 10,000)
	@node bench/edge/bench.ts

.PHONY: bench-issuer
bench-issuer: $(INSTALLED) ## what a certificate costs beside another commit (ARGS=WORK_TREE; 25 minutes)
	@node bench/issuer/bench.ts $(ARGS)

.PHONY: bench-console
bench-console: $(INSTALLED) ## what 200 open pages of the console cost (8 minutes)
	@node bench/console/bench.ts

.PHONY: bench-hostile
bench-hostile: $(INSTALLED) ## the worst cost of a stranger's input, in milliseconds and bytes
	@node bench/hostile/run.ts

.PHONY: pictures
pictures: $(INSTALLED) ## the pictures in docs/images: the dashboards, from what Prometheus scrapes in a test run, and the console (5 minutes)
	@PICTURES=1 vitest run --project integration test/integration/monitoring test/integration/console/browser.test.ts

.PHONY: generate
generate: $(INSTALLED) ## types from crds/ and configurations, values.schema.json, the tests of the threat model
	node tools/generate-threats.ts
	node tools/generate-types.ts
	node tools/generate-values-schema.ts

.PHONY: format
format: $(INSTALLED) ## format, and fix what the linter can fix
	biome check --write .

.PHONY: bundle
bundle: $(INSTALLED) ## dist/: the programs as the image and npm ship them, each with its SBOM (CycloneDX)
	rolldown --config tools/bundle.config.ts

.PHONY: release
release: $(INSTALLED) ## dist/release/: images, chart, CRDs, CLI, runtime, SBOMs, checksums, provenance; needs no container registry (2 minutes)
	@node tools/release/release.ts

.PHONY: test-release
test-release: $(INSTALLED) ## builds the release twice, in other folders, and compares the bytes; starts both images (5 minutes)
	@node test/run.ts release

.PHONY: test-dockerfile
test-dockerfile: bundle ## builds the Dockerfile with Docker and compares the image with the release's; needs a container registry (a minute)
	@node tools/release/compare-docker.ts $(ARGS)

.PHONY: test-adopt
test-adopt: $(INSTALLED) ## installs the release as its README says, like a new user, with dashboards and an alert (2 minutes)
	@NAMEPLATE_PROVIDER=namespaces node test/run.ts adopt

.PHONY: cluster-up
cluster-up: $(INSTALLED) ## a cluster to try things in: see test/cluster/README.md
	@node test/cluster/cli.ts up

.PHONY: cluster-shell
cluster-shell: $(INSTALLED) ## a shell in which kubectl, curl and the operator from source reach it
	@node test/cluster/cli.ts shell

.PHONY: cluster-down
cluster-down: $(INSTALLED) ## stop the cluster and leave no trace
	@node test/cluster/cli.ts down

.PHONY: clean
clean: ## remove node_modules and dist; the cluster's programs stay in their cache
	rm -rf node_modules dist coverage

# Node 26 comes as an npm package, so any Node from version 20 is enough to install it.
$(INSTALLED): package.json package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or later (https://nodejs.org)" >&2; exit 1; }
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@
