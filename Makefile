# The commands of this repository. `make` alone lists them.

GO ?= go

.PHONY: help build cloud demo test soak bench fuzz lint readme

help:
	@echo 'make demo    watch the loop work, without a key'
	@echo 'make test    every test, with the race detector; installs gcc and rg when root'
	@echo 'make build   bin/oneloop'
	@echo 'make cloud   bin/oneloop-cloud, for models on Bedrock and Vertex AI'
	@echo 'make soak    the long tests in full numbers'
	@echo 'make bench   timings, as ratios against bench/floor and other programs; installs rg, bwrap and strace when root'
	@echo 'make fuzz    every fuzz target for a while (FUZZTIME=30s each)'
	@echo 'make readme  the generated parts of the READMEs'
	@echo 'make lint    format, vet and module files; vet and build for macOS and Windows'

# Nearly all of the program is mapped at its start, so its size is its memory.
# Without HTTP/2: requests of one agent follow each other, and every API speaks
# HTTP/1.1. Functions begin at each 16th byte, not each 32nd.
# Functions are inlined only where every piece of a reply goes through; elsewhere
# no turn is slower without, and file and memory are a twentieth less.
SMALL = oneloop/budget oneloop/cmd/... oneloop/looptest/... oneloop/model/catalog oneloop/model/gemini oneloop/model/ollama oneloop/policy/... oneloop/prompt oneloop/session oneloop/team oneloop/tool oneloop/trace \
	oneloop/workspace/... oneloop/internal/config oneloop/internal/guard oneloop/internal/schema oneloop/internal/text oneloop/internal/tui oneloop/internal/webpage \
	mvdan.cc/sh/... crypto/... encoding/asn1 fmt image/... math/big net regexp/...
SHIPPED = -trimpath -tags nethttpomithttp2 -ldflags '-s -w -funcalign=16' $(SMALL:%=-gcflags=%=-l)
BIN ?= bin/oneloop

# A linker writes through a mapping, which leaves the file in memory in single
# pages until it is read from the disk again; a copy starts sooner.
build:
	CGO_ENABLED=0 $(GO) build $(SHIPPED) -o $(BIN).linked ./cmd/oneloop
	@cp $(BIN).linked $(BIN).new && mv -f $(BIN).new $(BIN) && rm $(BIN).linked

cloud:
	cd cloud && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(abspath $(dir $(BIN)))/oneloop-cloud ./oneloop-cloud

demo: build
	@bin/oneloop demo

# Packages are tested in the order they are named: those that take longest come
# first, so that none of them is left alone at the end.
LONGEST = ./workspace ./workspace/ordinary ./cmd/oneloop ./examples ./tool ./model/anthropic ./team

test:
	@.ci/need bash git gcc
	@.ci/need zsh fish || echo 'NOT RUN without these: their reading of the completion scripts'
	@.ci/need rg curl python3 bwrap make sqlite3 jq zip unzip || echo 'NOT RUN without these: search against rg, the proxy of the sandbox, some attacks on it, its backend bwrap, some everyday commands'
	CGO_ENABLED=1 $(GO) test -race -timeout 20m $(LONGEST) ./...
	cd cloud && CGO_ENABLED=0 $(GO) test ./...

soak:
	@.ci/need bash git gcc rg curl python3 bwrap
	ONELOOP_SOAK=1 CGO_ENABLED=1 $(GO) test -race -count=1 -timeout 90m $(LONGEST) ./...

bench: build
	@.ci/need bash
	@.ci/need rg bwrap strace || echo 'NOT MEASURED without these: the searches, the sandbox against another one, waits for the disk'
	$(GO) run ./bench

FUZZTIME ?= 30s

fuzz:
	@$(GO) list ./... | while read -r pkg; do \
		$(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' | while read -r target; do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done || exit 1; \
	done

lint:
	@test -z "$$(gofmt -l .)" || { echo 'gofmt would change:'; gofmt -l .; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	cd cloud && $(GO) mod tidy -diff && $(GO) vet ./... && CGO_ENABLED=0 $(GO) build -o /dev/null ./oneloop-cloud
	for os in darwin windows; do GOOS=$$os CGO_ENABLED=0 $(GO) vet ./... && GOOS=$$os CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/oneloop || exit 1; done

readme:
	$(GO) test -count=1 -run TestTheReadmesShow ./cmd/oneloop -update
