# The front door. `make` lists what there is; every target does its own set-up.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
INSTALLED := node_modules/.installed

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(INSTALLED) ## the main job on a real Kubernetes, step by step (KEEP=1 leaves it up)
	@node test/demo/demo.ts

.PHONY: test
test: $(INSTALLED) ## everything that is right or wrong: check, integration, end to end
	@$(MAKE) --no-print-directory static
	@node test/run.ts

.PHONY: check
check: $(INSTALLED) static ## the loop of every day: format, lint, types, generated files, licences, unit tests, npm audit
	@vitest run --project unit
	@$(MAKE) --no-print-directory audit

.PHONY: static
static: $(INSTALLED)
	biome check --error-on-warnings .
	tsc
	node tools/generate-types.ts --check
	node tools/generate-values-schema.ts --check
	node tools/check-packages.ts

# Not in `make test`: what is known about a package changes without a commit, and no commit should fail for it.
.PHONY: audit
audit: $(INSTALLED) ## known vulnerabilities of what is shipped, as the npm registry knows them
	@node tools/audit.ts

.PHONY: soak
soak: $(INSTALLED) ## the long loops: the same tests with SOAK=1, and those in *.soak.ts (forty minutes)
	@SOAK=1 node test/run.ts integration e2e

.PHONY: bench-loop
bench-loop: $(INSTALLED) ## the runtime against its peers, and what a steady state of 100 domains costs (fifty minutes)
	node bench/loop/compare.ts 1000
	node bench/loop/compare.ts 10000
	node bench/loop/idle.ts
	node bench/loop/shim.ts

.PHONY: bench-loop-large
bench-loop-large: $(INSTALLED) ## the same with 50,000 objects, and with 10,000 live domains (forty-five minutes)
	node bench/loop/compare.ts 50000
	node bench/loop/idle.ts 2 10000

.PHONY: bench-dns
bench-dns: $(INSTALLED) ## DNS verdicts beside node:dns and cert-manager's own check, over the fault zones of the tests
	@node bench/dns/bench.ts

.PHONY: bench-messages
bench-messages: $(INSTALLED) ## durable messages a second, beside what bounds them; needs wrk
	@node bench/messages/bench.ts

.PHONY: bench-admission
bench-admission: $(INSTALLED) ## what the admission policies cost a create, and an idle minute
	@node bench/admission/bench.ts

.PHONY: generate
generate: $(INSTALLED) ## types from crds/, the chart's values.schema.json from the configuration
	node tools/generate-types.ts
	node tools/generate-values-schema.ts

.PHONY: format
format: $(INSTALLED) ## format, and mend what the linter can
	biome check --write .

.PHONY: bundle
bundle: $(INSTALLED) ## dist/: the programs as the image and npm ship them, each with its SBOM (CycloneDX)
	rolldown --config tools/bundle.config.ts

.PHONY: cluster-up
cluster-up: $(INSTALLED) ## a cluster to work with by hand: see test/cluster/README.md
	@node test/cluster/cli.ts up

.PHONY: cluster-shell
cluster-shell: $(INSTALLED) ## a shell in which kubectl, curl and the operator from source reach it
	@node test/cluster/cli.ts shell

.PHONY: cluster-down
cluster-down: $(INSTALLED) ## remove it without a trace
	@node test/cluster/cli.ts down

.PHONY: clean
clean: ## node_modules and dist; the programs of the cluster stay in their cache
	rm -rf node_modules dist coverage

# Node 26 comes as an npm package, so whatever Node the machine has (20 or later) is enough to begin with.
$(INSTALLED): package.json package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or later (https://nodejs.org)" >&2; exit 1; }
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@
