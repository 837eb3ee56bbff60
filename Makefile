# The two commands for a start: `make run` and `make test`.
SHELL := /bin/bash
BIN := bin/tare
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
LINT := bin/golangci-lint
export CGO_ENABLED := 0

# What tare is built for: see docs/platforms.md.
SYSTEMS := linux/amd64 linux/arm64 windows/amd64 darwin/arm64

.PHONY: run build install test check fmt vet cross lint unit bench bench-aa schema man clean

# Build tare and weigh the default modes on the embedded lab. Root is used where
# there is root; an ordinary user's labs live in a user namespace.
run: build
	$(BIN) run --profile quick

build:
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/tare

# Install the program, its completions and the docker command's plugin.
PREFIX ?= /usr/local
install: build
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/tare
	install -d $(DESTDIR)$(PREFIX)/libexec/docker/cli-plugins $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	ln -sf ../../../bin/tare $(DESTDIR)$(PREFIX)/libexec/docker/cli-plugins/docker-tare
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 docs/man/*.1
	$(BIN) completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/tare
	$(BIN) completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tare
	$(BIN) completion fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tare.fish

# Tests of these look at all runs of the machine, end those that are dead, or change a
# setting of its kernel for a moment: one package at a time.
ALONE := ./internal/cli ./internal/driver/docker ./internal/engine ./internal/lab ./internal/runner

# Install what the tests need, then run all of them, privileged ones included.
test: build
	scripts/setup-tests
	go vet ./...
	go test -count=1 -p 2 -timeout 15m $$(go list ./... | grep -vxF "$$(go list $(ALONE))")
	go test -count=1 -p 1 -timeout 15m $(ALONE)

# The fast inner loop.
check: fmt vet cross lint unit

fmt:
	@test -z "$$(gofmt -l .)" || { echo 'not formatted by gofmt:'; gofmt -l .; exit 1; }

vet:
	go vet ./...

# Build and vet for every system, tests included. What is built is thrown away.
cross:
	@for s in $(SYSTEMS); do \
		GOOS=$${s%/*} GOARCH=$${s#*/} go build ./cmd/... ./internal/... && \
		GOOS=$${s%/*} GOARCH=$${s#*/} go vet ./cmd/... ./internal/... && \
		echo "cross: $$s builds" || { echo "cross: $$s does not build"; exit 1; }; \
	done

# The linter is built once from the version that tools/go.mod pins.
$(LINT): tools/go.mod
	cd tools && GOFLAGS=-mod=readonly go build -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

lint: $(LINT)
	$(LINT) run ./...

unit:
	go test -short ./...

# Side by side, on a machine that does nothing else: about 40 minutes.
bench: build
	scripts/setup-bench
	go run ./bench -tare $(BIN)

# The method on the real lab: the host against itself, 40 times, about 10 minutes on
# a machine that does nothing else. Of the same kind, and named in the same way:
# effect (a difference of known size) and protocol (two profiles that must agree).
bench-aa: build
	go run ./bench -tare $(BIN) -only aa

# Write the study file's JSON Schema again after a change of its types.
schema:
	go test ./internal/cli -run TestSchema -update

# Write the man pages again after a change of a command or its flags.
man:
	go test ./internal/cli -run TestManPages -update-man

clean:
	rm -rf bin
