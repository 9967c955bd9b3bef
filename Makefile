# What each target does: make help
SHELL   := /bin/bash
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
PREFIX  ?= $(HOME)/.local
FUZZTIME ?= 10s
BENCHFLAGS ?=
LINKFAULTS ?= 2m

.DEFAULT_GOAL := build
.PHONY: build test lint race fuzz e2e e2e-runtimes e2e-web e2e-links bench bench-quick demo demo-office readme-check man install cross mcp-conformance mcp-inspector clean help

build: ## build bin/post and bin/postd
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

# Tests sync a lot; what they prove does not depend on a disk.
TESTENV := $(if $(wildcard /dev/shm/.),TMPDIR=/dev/shm)

test: lint ## everything but the whole-program scenarios: with the race detector, and every crash state
	$(TESTENV) $(GO) test -race -parallel 8 ./...
	$(TESTENV) $(GO) test -run Crash ./internal/router
	$(TESTENV) $(GO) test ./internal/search

lint: ## formatting, vet, staticcheck, tidy go.mod
	@out=$$(gofmt -l cmd internal bench e2e 2>/dev/null); [ -z "$$out" ] || { echo "not formatted: $$out"; exit 1; }
	$(GO) vet -tags e2e ./...
	$(GO) tool staticcheck -tags e2e ./...
	$(GO) mod tidy -diff

fuzz: ## each fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

e2e: build ## whole programs: kill -9 at every system call, concurrency, faults
	$(GO) test -tags e2e -count=1 -timeout 40m ./e2e
	$(MAKE) e2e-runtimes
	$(MAKE) e2e-web
	$(MAKE) e2e-links

e2e-runtimes: ## the real coding CLIs, pinned, against a scripted model (e2e/README.md)
	cd e2e/runtimes && $(GO) test -tags e2e -count=1 -timeout 30m

e2e-web: build ## the page in a real Chromium; its screenshots go to out/screens (e2e/README.md)
	$(TESTENV) $(GO) test -tags e2e -count=1 -timeout 20m ./e2e/web

e2e-links: ## linked offices in networks of their own, under faults for POSTROOM_LINK_FAULTS (e2e/README.md)
	@set -o pipefail; cd e2e/links && POSTROOM_LINK_FAULTS=$(LINKFAULTS) $(GO) test -tags e2e -v -count=1 -timeout 40m | grep -v '^=== '

bench: ## ratios against peers and physical limits, in one run (docs/bench.md)
	$(GO) run ./bench $(BENCHFLAGS)

bench-quick: ## the same, only to see that all can be measured
	$(GO) run ./bench -quick

demo: build ## two agents and a person, in a temporary office
	@scripts/demo.sh

demo-office: build ## an office after a week of work, twelve agents, with its page
	@scripts/demo-office.sh

readme-check: ## run the commands of the README word for word, in a home of their own
	scripts/readme-check.sh

man: build ## write docs/man from the command table
	bin/post man docs/man

install: build ## install both programs into PREFIX/bin, the man pages beside
	install -d $(PREFIX)/bin $(PREFIX)/share/man/man1 $(PREFIX)/share/man/man5
	install -m 0755 bin/post bin/postd $(PREFIX)/bin/
	install -m 0644 docs/man/*.1 $(PREFIX)/share/man/man1/
	install -m 0644 docs/man/*.5 $(PREFIX)/share/man/man5/

cross: ## compile for macOS and Windows
	@set -e; for t in darwin/arm64 darwin/amd64 windows/amd64 linux/arm64; do \
	  echo $$t; GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build -o /dev/null ./cmd/post; \
	  GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build -o /dev/null ./cmd/postd; \
	  GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) vet ./...; done

mcp-conformance: build ## the official MCP suite against post mcp (node 22 comes from npm if need be)
	scripts/mcp-conformance.sh

mcp-inspector: build ## the official inspector lists and calls all tools (node 22 comes from npm if need be)
	scripts/mcp-inspector.sh

clean: ## remove what was built
	rm -rf bin dist out

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
