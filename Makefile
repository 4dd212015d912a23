# Every task has one target here. `make help` lists them.
GO      ?= go
CC      ?= cc
# Inputs of each fuzz target. A time instead (10s) now and then fails by itself: "context deadline exceeded".
FUZZTIME ?= 50000x
# Of one package's tests: they wait for real programs, on machines that may be busy.
TIMEOUT ?= 30m
# Rounds of the benchmarks: of those under a second, and of those of some seconds.
ROUNDS ?= 15
LONG_ROUNDS ?= 7
SCRAPED_ROUNDS ?= 400
# Rounds of 1.5 s of the storm of scrapes: 40 find a fault, 400 show that there is none.
STORM_ROUNDS ?= 40
# Matrices of the selftest: of equal cells, and with 2% more work.
EQUAL ?= 40
SLOWER ?= 10

# Where `make install` puts gorun.
PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share

# Which cells `make matrix` compares, and its journal.
MATRIX ?= --preset classic --out classic.jsonl

# The tools that lint uses, by version.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
DEPGUARD    := github.com/OpenPeeDeeP/depguard/v2/cmd/depguard@v2.3.0

.DEFAULT_GOAL := help
.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./gorun
	$(GO) build -o gorun ./cmd/gorun

.PHONY: install
install: build ## install gorun, its man pages and its completions below PREFIX (/usr/local)
	install -D -m 755 gorun $(DESTDIR)$(PREFIX)/bin/gorun
	./gorun completion bash | install -D -m 644 /dev/stdin $(SHARE)/bash-completion/completions/gorun
	./gorun completion zsh | install -D -m 644 /dev/stdin $(SHARE)/zsh/site-functions/_gorun
	./gorun completion fish | install -D -m 644 /dev/stdin $(SHARE)/fish/vendor_completions.d/gorun.fish
	@pages=$$(mktemp -d) && trap 'rm -r "$$pages"' EXIT && set -e && ./gorun man "$$pages" && \
	  for section in 1 7; do install -d $(SHARE)/man/man$$section && \
	    install -m 644 "$$pages"/*.$$section $(SHARE)/man/man$$section; done

.PHONY: matrix
matrix: build ## the classic table of this machine: 38 rows (40 min on 2 CPUs; goes on where it was stopped; anew after a change)
	./gorun matrix primes $(MATRIX) --resume --backup

.PHONY: matrix-quick
matrix-quick: build ## eight placements compared within a minute
	./gorun matrix primes --preset quick

.PHONY: selftest
selftest: ## do the verdicts hold on this machine? EQUAL matrices of equal cells, SLOWER runs with 2% more work (9 min)
	$(GO) test ./cmd/gorun -run '^TestSelftest$$' -count=1 -v -timeout 60m -selftest-equal $(EQUAL) -selftest-slower $(SLOWER)

.PHONY: exec-test
exec-test: ## does gorun exec find the placement that is best by construction? (20 s; 4 min on a busy machine)
	$(GO) test ./cmd/gorun -run '^TestExecFindsTheBest$$' -count=1 -v -timeout 30m -exec-best

.PHONY: privileges-test
privileges-test: ## every command without every privilege, as root (6 min on 2 CPUs)
	$(GO) test ./cmd/gorun -run '^TestPrivileges$$' -count=1 -v -timeout 60m -privileges

.PHONY: prometheus-test
prometheus-test: ## a Prometheus server and a Pushgateway show what a run says; promtool; a storm of scrapes (2 min)
	@for tool in prometheus promtool prometheus-pushgateway; do command -v $$tool >/dev/null || { \
	  echo "$$tool is not installed (Debian: apt-get install prometheus prometheus-pushgateway)"; exit 1; }; done
	$(GO) test ./cmd/gorun -run '^Test(Promtool|Prometheus|ScrapeStorm)' -count=1 -v -timeout 60m -prometheus \
	  -storm-rounds $(STORM_ROUNDS)

.PHONY: test
test: ## all tests that need nothing but Go and a C compiler
	$(GO) test -timeout $(TIMEOUT) $(TESTFLAGS) ./...

.PHONY: race
race: ## the same tests under the race detector
	GORACE=atexit_sleep_ms=0 $(GO) test -race -timeout $(TIMEOUT) $(TESTFLAGS) ./...

.PHONY: lint
lint: ## go vet, staticcheck, depguard, gofumpt, shellcheck; other systems compile
	$(GO) vet ./... ./testdata/matrix ./testdata/prometheus ./testdata/references
	GOOS=darwin $(GO) build ./...
	GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./...
	CGO_ENABLED=0 $(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(DEPGUARD) ./...
	@files=$$($(GO) run $(GOFUMPT) -l .); if [ -n "$$files" ]; then echo "not gofumpt-ed:"; echo "$$files"; exit 1; fi
	@if command -v shellcheck >/dev/null; then shellcheck .ci/run testdata/vm/run testdata/vm/preferred-node/build \
	  testdata/vm/preferred-node/test testdata/vm/preferred-node/checks testdata/vm/preferred-node/balancing testdata/runs/record; \
	else echo "shellcheck is not installed (Debian: apt-get install shellcheck)"; exit 1; fi

.PHONY: lint-c
lint-c: ## strict warnings over all C
	$(CC) -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wmissing-prototypes -Werror csrc/*.c testdata/exec/*.c \
	  internal/*/testdata/*.c

.PHONY: sanitize
sanitize: ## the C kernels' tests under the address and undefined-behaviour sanitizers
	CGO_CFLAGS="-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all" \
	CGO_LDFLAGS="-fsanitize=address,undefined" \
	ASAN_OPTIONS=detect_leaks=0 $(GO) test -asan -count=1 ./csrc

.PHONY: arm64
arm64: ## the C kernels' tests as arm64 code in QEMU, on a CPU with LSE atomics and on one without
	@for tool in aarch64-linux-gnu-gcc qemu-aarch64-static; do command -v $$tool >/dev/null || { \
	  echo "$$tool is not installed (Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)"; \
	  exit 1; }; done
	for cpu in max cortex-a57; do \
	  CC=aarch64-linux-gnu-gcc CGO_ENABLED=1 GOARCH=arm64 OBJDUMP=aarch64-linux-gnu-objdump \
	  $(GO) test -tags netgo,osusergo -ldflags '-linkmode external -extldflags -static' \
	    -exec "qemu-aarch64-static -cpu $$cpu" ./csrc ./internal/contend ./internal/c2c || exit 1; \
	done

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (50000x: inputs)
	@grep -Eor --include='*_test.go' '^func Fuzz\w+' . | while IFS=: read -r file target; do \
	  echo "$$file $$target"; \
	  $(GO) test -run '^$$' -fuzz "^$${target#func }\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" </dev/null || exit 1; \
	done

.PHONY: bench
bench: ## speed and memory as ratios against named rivals, in interleaved rounds (alone on the machine, 7 min)
	$(GO) test -run "^$$" -bench "Kernel|Worker$$|Instrumentation|Original" -benchtime $(ROUNDS)x -timeout 30m ./internal/primes
	$(GO) test -run "^$$" -bench "ManyWorkers|Pinned|Memory" -benchtime $(LONG_ROUNDS)x -timeout 30m ./internal/primes
	$(GO) test -run "^$$" -bench "LongJournal" -benchtime $(ROUNDS)x -timeout 30m ./cmd/gorun
	$(GO) test -run "^$$" -bench "DryRun" -benchtime $(LONG_ROUNDS)x -timeout 30m ./cmd/gorun
	$(GO) test -run "^$$" -bench "Child|Scheduler" -benchtime $(ROUNDS)x -timeout 30m ./internal/run
	$(GO) test -run "^$$" -bench . -benchtime 1s ./internal/stats

.PHONY: bench-plans
bench-plans: ## each dry run on 2 to 4,096 CPUs: time, files opened (BEFORE=another gorun: beside it; GORUN_DIR=1: see the benchmark)
	GORUN_BEFORE="$(BEFORE)" $(GO) test -run "^$$" -bench "DryRun" -benchtime $(LONG_ROUNDS)x -timeout 60m ./cmd/gorun

.PHONY: bench-contend
bench-contend: ## contend and c2c beside ccont, where it is on PATH, or plain C: each operation in turn on 1 and 2 CPUs (alone, 4 min)
	$(GO) test -run "^$$" -bench "Contend|C2C" -benchtime $(ROUNDS)x -timeout 30m ./cmd/gorun

.PHONY: bench-metrics
bench-metrics: ## runs that are scraped each second beside runs without metrics, by gorun's own statistics (alone, 21 min)
	$(GO) test -run "^$$" -bench "^BenchmarkMetrics$$" -benchtime $(SCRAPED_ROUNDS)x -timeout 60m ./cmd/gorun

.PHONY: bench-numa
bench-numa: ## numa's probe beside plain C, from 32 KiB to 1 GiB; its load beside stress-ng, where it is on PATH (alone, 14 min)
	$(GO) test -run "^$$" -bench "Numa/./[KM]iB" -benchtime $(ROUNDS)x -timeout 30m ./cmd/gorun
	$(GO) test -run "^$$" -bench "Numa/./GiB" -benchtime $(LONG_ROUNDS)x -timeout 30m ./cmd/gorun
	$(GO) test -run "^$$" -bench "Duty" -benchtime $(ROUNDS)x -timeout 30m ./internal/load

# PRESET is the table of numa-rfc: rfc-intel or rfc-amd.
PRESET ?= rfc-intel
.PHONY: numa-rfc
numa-rfc: ## the 36 rows of the RFC (PRESET=rfc-amd: with its second table's samples) on this machine, as root: hours
	$(GO) build -o gorun ./cmd/gorun
	./gorun numa --preset $(PRESET) --dry-run
	./gorun numa --preset $(PRESET) --out numa-$(PRESET).jsonl

.PHONY: bench-pair
bench-pair: ## two processes on one CPU beside two CPUs, and their system calls beside plain C, in turn (alone, 4 min)
	$(GO) test -run "^$$" -bench "Pair" -benchtime $(ROUNDS)x -timeout 30m ./cmd/gorun

.PHONY: vm
vm: ## boot real kernels with many CPUs and nodes in QEMU, and run the tests there (MACHINE=epyc8 CMD='gorun numa': run that)
	testdata/vm/run setup
	$(if $(MACHINE),testdata/vm/run boot $(MACHINE) -- sh -c '$(CMD)',testdata/vm/run test)

.PHONY: vm-clock
vm-clock: ## boot a machine ten times beside busy processes: is its clock as fast as this machine's? (6 min)
	testdata/vm/run setup
	testdata/vm/run clocks

.PHONY: vm-pnid
vm-pnid: ## build a kernel with a preferred node, and run what needs it and NUMA balancing there (25 min, then 2; ROUNDS=30: judge)
	testdata/vm/run setup
	testdata/vm/preferred-node/test

.PHONY: ci-long
ci-long: ## what does not fit into .ci/run: a kernel build, the whole selftest, long fuzzing, the whole storm of scrapes (1 h)
	$(MAKE) vm-pnid
	$(MAKE) vm-clock
	$(MAKE) selftest
	$(MAKE) fuzz
	$(MAKE) prometheus-test STORM_ROUNDS=400

.PHONY: power
power: ## rounds and seconds until a difference is claimed, for each recording, before and now (NOISE: a directory of others)
	GORUN_NOISE=$(NOISE) $(GO) test ./internal/stats -run '^$$' -bench RoundsToClaim -benchtime 1x -timeout 1h

.PHONY: record
record: ## record the runs of testdata/runs anew in QEMU (RUNS: some of them), and what is shown of each (10 min)
	testdata/vm/run setup
	testdata/runs/record $(RUNS)
	$(GO) test ./internal/report -run '^TestViews$$' -update

.PHONY: capture
capture: ## capture the QEMU machines anew into testdata/hosts
	testdata/vm/run setup
	testdata/vm/run capture

# Where `make report-test` leaves the journals, the reports and screenshots of them.
REPORTS ?= /tmp/gorun-reports

.PHONY: report-test
report-test: build ## reports of real runs read in headless Chromium: numbers, faults, accessibility (1 min; screenshots in REPORTS)
	@for tool in $${CHROMIUM:-chromium} npm; do command -v $$tool >/dev/null || { \
	  echo "$$tool is not installed (Debian: apt-get install chromium npm)"; exit 1; }; done
	npm ci --prefix testdata/report --silent
	node testdata/report/test.js ./gorun $(REPORTS)

.PHONY: man
man: build ## write the man pages to ./man
	./gorun man man

.PHONY: completions
completions: build ## write shell completions to ./completions
	mkdir -p completions
	./gorun completion bash >completions/gorun.bash
	./gorun completion zsh >completions/_gorun
	./gorun completion fish >completions/gorun.fish

.PHONY: update
update: ## write the golden files anew; read the diff before you commit it
	$(GO) test ./internal/result ./internal/topology ./internal/render ./internal/report ./internal/metrics -update
	$(GO) test ./cmd/gorun -update

.PHONY: clean
clean: ## remove what the targets made
	rm -rf gorun man completions
