# Start with `make run` and `make test`.
SHELL := /bin/bash
BIN := bin/tare
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null)
# The date of the commit, not today's: the same sources must give the same program.
DATE := $(shell TZ=UTC0 git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)
# Both binaries know the identity of their sources, and tare contains the agent's; see scripts/agents.
TAGS := buildid,agentfile
GOBUILD := go build -trimpath -buildvcs=false -tags=$(TAGS) -ldflags '$(LDFLAGS)'
LINT := bin/golangci-lint
export CGO_ENABLED := 0

# The platforms of tare; see docs/platforms.md.
SYSTEMS := linux/amd64 linux/arm64 windows/amd64 darwin/arm64

.PHONY: run build agents size docs-size share install uninstall image licences vuln fuzz dist dist-check test test-all $(ALL) test-live uninstall-tests clean-cache flaky race check check-all fmt cross lint faults soak bench bench-aa bpf bpf-drops bpf-redirect drawings schema man claims pictures pictures-terminal clean

# Build tare and measure the default modes on the embedded lab. Labs of an ordinary user
# are in a user namespace.
run: build
	$(BIN) run --profile quick

build: agents
	$(GOBUILD) -o $(BIN) ./cmd/tare

# The program of an agent, which tare contains, for the system that the build is for.
AGENTS = $(shell go env GOOS)/$(shell go env GOARCH)
agents:
	env -u GOOS -u GOARCH go run ./scripts/agents $(AGENTS)

# How many lines each room of the sources has, how large tare and its agent are, and what each library brings.
size: build
	go run ./scripts/size $(BIN)

# The files besides the program, in their installed layout.
SHARE := bin/share
PAGES := $(notdir $(wildcard docs/man/*.1))
share: $(if $(shell command -v go 2>/dev/null),build)
	@test -x $(BIN) || { echo 'share: there is no $(BIN), and no go to build it with' >&2; exit 1; }
	rm -rf $(SHARE)
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d $(SHARE)/man/man1
	$(BIN) completion bash >$(SHARE)/bash-completion/completions/tare
	$(BIN) completion zsh >$(SHARE)/zsh/site-functions/_tare
	$(BIN) completion fish >$(SHARE)/fish/vendor_completions.d/tare.fish
	for page in $(PAGES); do gzip -9n <docs/man/$$page >$(SHARE)/man/man1/$$page.gz || exit 1; done

# Install the program, its completions, its man pages, and the plugins of the docker command and of kubectl.
# Without go, as often under sudo, the result of `make build` is used.
PREFIX ?= /usr/local
BESIDE := share/bash-completion/completions/tare share/zsh/site-functions/_tare \
	share/fish/vendor_completions.d/tare.fish $(PAGES:%=share/man/man1/%.gz)
install: share
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/docker/cli-plugins
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/tare
	ln -sf ../../../bin/tare $(DESTDIR)$(PREFIX)/libexec/docker/cli-plugins/docker-tare
	ln -sf tare $(DESTDIR)$(PREFIX)/bin/kubectl-tare
	for file in $(BESIDE); do install -d $(DESTDIR)$(PREFIX)/$${file%/*} && \
		install -m 644 $(dir $(SHARE))$$file $(DESTDIR)$(PREFIX)/$$file || exit 1; done

# Remove the files that install created, but no directory.
uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/tare bin/kubectl-tare libexec/docker/cli-plugins/docker-tare $(BESIDE))

# An image that contains only the program, in the engine of the docker command.
# For a registry of several architectures, see .goreleaser.yaml.
IMAGE ?= tare:$(VERSION)
image: ARCH = $(shell go env GOARCH)
image: AGENTS = linux/$(ARCH)
image: agents
	rm -rf bin/image
	GOOS=linux $(GOBUILD) -o bin/image/linux/$(ARCH)/tare ./cmd/tare
	docker build --build-arg TARGETPLATFORM=linux/$(ARCH) --label org.opencontainers.image.version=$(VERSION) \
		--label org.opencontainers.image.revision=$(COMMIT) --label org.opencontainers.image.created=$(DATE) \
		-t $(IMAGE) -f Dockerfile bin/image

# The licences of everything that is linked into the program, on any platform. Fails on one
# that is not compatible with the program's own.
licences:
	@mkdir -p bin
	SYSTEMS='$(SYSTEMS)' scripts/licences >bin/licences.txt

# Known vulnerabilities that the program can reach, on any platform. Requires a network, or
# GOVULNDB; in the inner loop it is only said that nothing was checked.
VULN := SYSTEMS='$(SYSTEMS)' scripts/vuln
vuln: bin/govulncheck
	$(VULN)

# Build a release in dist/ from the current sources, without publishing it; see docs/install.md.
dist: bin/goreleaser
	scripts/dist

# Only check the release configuration.
dist-check: bin/goreleaser
	bin/goreleaser check

bin/goreleaser: scripts/setup-dist
	scripts/setup-dist

# Tests. Three tiers: make check needs no rights and no set-up, make test sets up what it needs without installing
# anything, and make test-all has the stages of ALL, each a target of its own. scripts/tests knows
# which test belongs to which, runs them, and says what was skipped and why.
# TESTFLAGS=-yes lets a stage install packages of this system, as CI does.
TESTFLAGS ?=
TESTS = go run -trimpath ./scripts/tests -tags=$(TAGS) $(TESTFLAGS)
ALL := test-engines test-kubernetes test-machines test-guest test-wine test-browser test-faults test-release

test: build bin/gotestsum
	$(TESTS) test

test-all: build bin/gotestsum
	$(TESTS) $(ALL:test-%=%)

# What judges the machine rather than the program: prints figures, on an otherwise idle machine.
$(ALL) test-live: test-%: build bin/gotestsum
	$(TESTS) $*

# The tests of the package PKG, or those that RUN matches, COUNT times beside programs that use every CPU.
COUNT ?= 50
flaky: agents
	$(TESTS) -count $(COUNT) -run '$(RUN)' flaky $(PKG)

# The tests of make test with the race detector, which take several times as long. The detector requires a C
# compiler; the programs are linked statically, because tests run them in containers without libraries.
race: build bin/gotestsum
	$(TESTS) -race test

# Every fuzz target for FUZZTIME, with at most 256 MB of memory each. FUZZ is a regular
# expression for some of them. What it finds is written to testdata/fuzz and becomes a test.
FUZZTIME ?= 60s
fuzz:
	go run ./scripts/fuzz -time $(FUZZTIME) -only '$(FUZZ)'

# The fast inner loop.
check: fmt lint agents bin/gotestsum bench-check
	$(TESTS) check

# What the inner loop leaves out of it for its time.
check-all: check cross licences vuln

fmt:
	@test -z "$$(gofmt -l .)" || { echo 'not formatted by gofmt:'; gofmt -l .; exit 1; }

# Build and vet for every platform, tests included. The results are discarded.
cross:
	@for s in $(SYSTEMS); do \
		GOOS=$${s%/*} GOARCH=$${s#*/} go build ./cmd/... ./internal/... && \
		GOOS=$${s%/*} GOARCH=$${s#*/} go vet ./cmd/... ./internal/... && \
		echo "cross: $$s builds" || { echo "cross: $$s does not build"; exit 1; }; \
	done

# Tools are built once from the versions that tools/go.mod pins.
TOOL = cd tools && GOFLAGS=-mod=readonly go build -trimpath -o ../$@
$(LINT): tools/go.mod
	$(TOOL) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bin/govulncheck: tools/go.mod
	$(TOOL) golang.org/x/vuln/cmd/govulncheck

bin/gotestsum: tools/go.mod
	$(TOOL) gotest.tools/gotestsum

# Lint includes go vet.
lint: $(LINT)
	$(LINT) run ./...
	cd bench && ../$(LINT) run ./...
	scripts/lint-prose

# Break FAULTS real runs at random moments, in every group of modes, and check that nothing is
# lost and nothing left; call commands against hostile peers. See docs/reliability.md. Requires
# root; about an hour. A case that fails prints the command that repeats it.
FAULTS ?= 200
FAULTTEST = PATH="$$(scripts/setup-tests $(filter --yes,-$(TESTFLAGS)) faults | tr '\n' ':')$$PATH" go test -tags=$(TAGS) -trimpath -count=1 -vet=off -v
SEED ?= 1
faults: agents
	$(FAULTTEST) -timeout 6h ./internal/faults -run '^TestFaults(Peers)?$$' -peers 320 -faults $(FAULTS) -seed $(SEED) -modes netns,tunnel,rootless,docker,vm

# Thousands of short trials in one run, and hundreds of endpoints at once: about half an hour.
soak: agents
	$(FAULTTEST) -timeout 2h ./internal/faults -run '^TestFaults(Soak|Pairs)$$' -trials 5000 -pairs 200

# The benchmarks, a module of their own: on an otherwise idle machine, about 40 minutes. ONLY names some sections,
# separated by commas, and BENCHFLAGS further flags of bin/bench.
bench: bin/bench build
ifdef ONLY
	bin/bench -tare $(BIN) -only $(ONLY) $(BENCHFLAGS)
else
	scripts/setup-bench
	peers=$$(scripts/setup-peers) && PATH="$${peers:+$$peers:}$$PATH" bin/bench -tare $(BIN) $(BENCHFLAGS)
endif

# The method on the real lab: a mode against itself, RUNS times; the host about 10 minutes on
# an otherwise idle machine, AA=docker/bridge and other slow modes half an hour and more. RENEW=2 splits the variance of modes that are quick to make, too. Similar sections, selected in the same way:
# effect (a difference of known size) and protocol (two profiles that must agree).
AA ?= host
RUNS ?= 40
RENEW ?= auto
bench-aa: bin/bench build
	bin/bench -tare $(BIN) -only aa -aa-mode $(AA) -aa-runs $(RUNS) -aa-renew $(RENEW) $(BENCHFLAGS)

# Go itself decides whether the program must be built again.
.PHONY: bin/bench bench-check
bin/bench:
	go build -C bench -tags=$(TAGS) -o ../bin/bench .

# The benchmarks' own tests, which need no rights; see testneed for what they skip.
bench-check: agents
	go vet -C bench -tags=$(TAGS) ./... && go test -C bench -tags=$(TAGS) ./...

# Compile the eBPF programs after a change of their sources, and record the checksums of the
# sources. Requires clang, llvm-strip and sha256sum.
bpf: bpf-drops bpf-redirect
bpf-drops: BPF := internal/observe/drops
bpf-drops: BPF_TYPES := -type owner
bpf-redirect: BPF := internal/linuxnet/redirect
bpf-redirect: BPF_TYPES := -type sandbox -type counts
bpf-drops bpf-redirect: bpf-%:
	bpf2go=$$(go tool -n bpf2go) && cd $(BPF) && \
	$$bpf2go -go-package $* -target bpfel -tags linux $(BPF_TYPES) $* $*.bpf.c -- -Wall -Wextra && \
	{ clang --version | sed -n '1s/^/# /p'; sha256sum $*.bpf.c $*_bpfel.go $*_bpfel.o; } >$*.sha256

# Write the graphs of the modes as their drivers build them, and the drawings of docs/modes
# from them, the list of modes in docs/README.md and
# docs/metrics.md. Of modes that cannot be built here
# graph and drawing stay as they are.
drawings:
	-TARE_WRITE_DRAWN=1 go test -count=1 -run 'Test(Engines)?Conformance$$|TestEnginesPluginConforms|TestEnginesCurrent|TestEnginesRootless$$|TestDrawn|TestKernelPaths' ./internal/driver/... ./internal/guest/inside
	go test -count=1 -run '^TestMode|^Test[A-Z]\w*Pages?$$' . -update-drawings
	go test -count=1 -run '^TestReportPage$$' ./internal/report/view -update

# Regenerate the study file's JSON Schema after a change of its types.
schema:
	go test ./internal/study/studyfile -run 'TestSchema$$' -update

# How many words the pages have that are written by hand, by directory, and those that are generated whole.
docs-size:
	@find README.md docs -name '*.md' -exec awk ' \
		/^<!-- generated: / { part = 1 } \
		{ d = FILENAME; if (!sub("/[^/]*$$", "", d)) d = "."; \
		if (part || FILENAME ~ /docs\/(commands|metrics|study-keys|run-files)\.md$$/ || d == "docs/claims" || FILENAME ~ /docs\/warnings\.md$$/ && /^\|/) d = "generated"; else all += NF; n[d] += NF } \
		/^<!-- end -->/ { part = 0 } \
		END { for (d in n) printf "%7d %s\n", n[d], d | "sort -k2"; close("sort -k2"); printf "%7d by hand\n", all }' {} +

# Regenerate the man pages after a change of a command or its flags.
man:
	go test ./internal/cli -run TestManPages -update-man

# Regenerate the pages of docs/claims after a change of the built-in studies' claims, or after
# scripts/record-claims.
claims:
	go test ./internal/cli/results -run '^TestClaimPages$$' -update-claims

# Regenerate README's pictures from real runs of about a minute: those of the report and
# of the terminal.
pictures: pictures-terminal
	scripts/pictures

# Regenerate the pictures of the terminal from a real run of about a minute.
pictures-terminal: build
	scripts/pictures-terminal

clean:
	rm -rf bin dist

# Remove the caches of the set-up: what is unpacked and built for tests and benchmarks.
clean-cache:
	scripts/setup-clean

# Remove also what scripts/setup-tests has installed: packages, their users, groups and links.
uninstall-tests:
	scripts/setup-tests --uninstall
