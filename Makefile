# Every task has one target here. `make help` lists them.
GO      ?= go
CC      ?= cc
# Number of inputs for each fuzz target. With a time (10s), go test sometimes fails with "context deadline exceeded".
FUZZTIME ?= 50000x
# Time limit for the tests of one package. They wait for real programs, on machines that may be busy.
TIMEOUT ?= 30m
# Rounds of the benchmarks: of rounds that take less than a second, and of those that take some seconds.
ROUNDS ?= 15
LONG_ROUNDS ?= 7
SCRAPED_ROUNDS ?= 400
# Number of the selftest's matrices with equal cells, and of those with 2% more work.
EQUAL ?= 40
SLOWER ?= 10

# Where `make install` puts gorun.
PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share

# Writes the man pages into a directory (cmd/gorun/man.go).
MANUAL = $(GO) run -tags man ./cmd/gorun

# Which cells `make matrix` compares.
MATRIX ?= --preset classic

# The tools that lint uses, by version.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
DEPGUARD    := github.com/OpenPeeDeeP/depguard/v2/cmd/depguard@v2.3.0

# The release of Go that builds gorun's releases, and the database of its known vulnerabilities ("": Go's own).
RELEASE_GO  := go1.26.11
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
VULNDB      ?=

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
	@pages=$$(mktemp -d) && trap 'rm -r "$$pages"' EXIT && set -e && $(MANUAL) "$$pages" && \
	  for section in 1 7; do install -d $(SHARE)/man/man$$section && \
	    install -m 644 "$$pages"/*.$$section $(SHARE)/man/man$$section; done

.PHONY: dist
dist: ## build a release for amd64 and arm64 in ./dist: archives, .deb, .rpm, an image, checksums, components (2 min)
	rm -rf dist
	GOTOOLCHAIN=$(RELEASE_GO) $(GO) run ./internal/dev/dist dist

.PHONY: dist-test
dist-test: ## build the release of this commit twice, install each package, run it, remove it (2 min; needs man-db, qemu-user-static)
	GOTOOLCHAIN=$(RELEASE_GO) $(GOTEST) ./internal/dev/dist

.PHONY: vulncheck
vulncheck: ## known vulnerabilities in the code that a release calls (VULNDB=a copy of the database; else needs vuln.go.dev)
	GOTOOLCHAIN=$(RELEASE_GO) $(GO) run $(GOVULNCHECK) $(if $(VULNDB),-db $(VULNDB)) ./cmd/gorun

.PHONY: module
module: ## rename the module: MODULE is the path at which `go install` will find it
	@test -n "$(MODULE)" || { echo "make module: give MODULE=a path, such as example.org/gorun" >&2; exit 1; }
	old=$$($(GO) list -m) && $(GO) mod edit -module "$(MODULE)" && \
	  grep -rlE "[\" ]$$old/(internal|csrc|cmd|\.\.\.)" --include='*.go' --include=.depguard.yml . | \
	  xargs sed -i -E "s#([\" ])$$old/(internal|csrc|cmd|\.\.\.)#\1$(MODULE)/\2#g"

.PHONY: matrix
matrix: build ## the classic table, 38 rows (40 min on 2 CPUs; continues a stopped run; each build has its own journal)
	./gorun matrix primes --resume --out classic-$$(sha256sum gorun | cut -c1-12).jsonl $(MATRIX)

.PHONY: matrix-quick
matrix-quick: build ## eight placements compared within a minute
	./gorun matrix primes --preset quick

# The tests of a target are those that the variable GORUN_TEST names (internal/dev/tests).
GOTEST = GORUN_TEST=$@ $(GO) test -count=1 -timeout 120m -v

.PHONY: rivals
rivals: ## false claims of gorun ab, hyperfine and benchstat about a program and itself, EQUAL times (needs hyperfine; 25 min)
	@command -v hyperfine >/dev/null || { echo 'make rivals: install hyperfine (Debian: hyperfine)' >&2; exit 1; }
	$(GOTEST) ./cmd/gorun -run '^TestRivals$$' -rivals-equal $(EQUAL) -rivals-slower $(SLOWER)

.PHONY: selftest
selftest: ## are verdicts right on this machine? EQUAL matrices of equal cells, SLOWER runs with 2% more work (9 min)
	$(GOTEST) ./cmd/gorun -run '^TestSelftest$$' -selftest-equal $(EQUAL) -selftest-slower $(SLOWER)

.PHONY: exec-test
exec-test: ## does gorun exec find the placement that is best by construction? (20 s; 4 min on a busy machine)
	$(GOTEST) ./cmd/gorun -run '^TestExecFindsTheBest$$'

.PHONY: privileges-test
privileges-test: ## every command without each privilege, as root (6 min on 2 CPUs)
	$(GOTEST) ./cmd/gorun -run '^TestLivePrivileges$$'

.PHONY: scarce-test
scarce-test: ## every command under each small limit on files, threads and memory, as root (30 min on 2 CPUs)
	$(GOTEST) ./cmd/gorun -run '^TestLiveScarce$$'

.PHONY: prometheus-test
prometheus-test: ## a Prometheus server agrees with a run; promtool (1 min)
	@for tool in prometheus promtool; do command -v $$tool >/dev/null || { \
	  echo "$$tool is not installed (Debian: apt-get install prometheus)"; exit 1; }; done
	$(GOTEST) ./cmd/gorun -run '^Test(Promtool|Prometheus)'

# Fleets with a slow node, and without one, that make slurm judges.
SLOWED  ?= 1
HEALTHY ?= 1

.PHONY: slurm
slurm: ## a real Slurm of two nodes runs the templates of gorun fleet, as root: kills, and SLOWED and HEALTHY fleets (4 min, nothing else running)
	@for tool in slurmctld slurmd sbatch munged; do command -v $$tool >/dev/null || { \
	  echo "$$tool is not installed (Debian: apt-get install --no-install-recommends slurmctld slurmd slurm-client munge)"; exit 1; }; done
	$(GOTEST) ./cmd/gorun -run '^TestSlurm' -slurm-slowed $(SLOWED) -slurm-healthy $(HEALTHY)

# It runs go test, and ends with the tests that were not run, and why. SKIPS is a file to which their names are appended.
RUN_TESTS = GO='$(GO)' $(GO) run ./internal/dev/tests/run test $(if $(SKIPS),-skips $(SKIPS)) -timeout $(TIMEOUT) $(TESTFLAGS)

.PHONY: test
test: ## the tests that need only Go and a C compiler (2 min)
	$(RUN_TESTS) ./...

# Packages whose tests take long, are the same on all machines and for all users, and start no goroutine (of report, the server does).
PURE = internal/judge/matrix internal/publish/report internal/stats internal/machine/topology
IMPURE = $(filter-out $(PURE:%=\%/%),$(shell $(GO) list ./...))

.PHONY: test-impure
test-impure: ## those of make test that depend on the machine, or on the user
	$(RUN_TESTS) $(IMPURE)

.PHONY: test-live
test-live: ## tests with real processes, faults, kills and privileges; every command of the documents; installation (3 min)
	GORUN_TEST=$@ $(RUN_TESTS) -p 1 -run '^TestLive' $(sort $(dir $(shell grep -rl '^func TestLive' --include='*_test.go' ./cmd ./csrc ./internal)))

.PHONY: race
race: ## the tests of make test under the race detector, where there is more than one goroutine
	GORACE=atexit_sleep_ms=0 $(RUN_TESTS) -race $(IMPURE)
	GORACE=atexit_sleep_ms=0 $(RUN_TESTS) -race -run 'Serve' ./internal/publish/report

# Conditions of make flaky, and which of the tests it runs, by a regular expression.
CONDITIONS ?= quiet busy one-cpu half-cpu user odd-surroundings
TESTS ?=

.PHONY: flaky
flaky: ## make test and test-live again (ROUNDS=1) under CONDITIONS, as root; appends to flaky.jsonl, goes on where it stopped, prints a table
	$(GO) run ./internal/dev/tests/run flaky -rounds $(if $(filter file,$(origin ROUNDS)),1,$(ROUNDS)) -conditions '$(CONDITIONS)' $(if $(TESTS),-tests '$(TESTS)')

.PHONY: lint
lint: ## go vet, staticcheck, depguard, gofumpt, shellcheck; the manifest for Kubernetes in its own types
	$(GO) vet -tags man ./...
	$(GO) run $(STATICCHECK) -tags man ./...
	$(GO) run $(DEPGUARD) ./...
	@files=$$($(GO) run $(GOFUMPT) -l .); if [ -n "$$files" ]; then echo "not gofumpt-ed:"; echo "$$files"; exit 1; fi
	$(GO) test -C testdata/kubernetes/manifest -count=1 .
	@if command -v shellcheck >/dev/null; then shellcheck internal/work/fleet/templates/*.sh .ci/run testdata/kubernetes/run testdata/vm/run testdata/vm/pmu testdata/vm/preferred-node/build \
	  testdata/vm/preferred-node/test testdata/vm/preferred-node/checks testdata/vm/preferred-node/balancing testdata/runs/record; \
	else echo "shellcheck is not installed (Debian: apt-get install shellcheck)"; exit 1; fi

.PHONY: lint-c
lint-c: ## strict warnings over all C
	$(CC) -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wmissing-prototypes -Werror csrc/*.c testdata/exec/*.c testdata/kubernetes/*.c \
	  internal/*/*/testdata/*.c

.PHONY: sanitize
sanitize: ## the C kernels' tests under the address and undefined-behaviour sanitizers
	CGO_CFLAGS="-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all" \
	CGO_LDFLAGS="-fsanitize=address,undefined" \
	ASAN_OPTIONS=detect_leaks=0 $(GO) test -asan -count=1 ./csrc

.PHONY: arm64
arm64: ## go vet for arm64; the C kernels' tests in QEMU, on a CPU with LSE atomics and on one without
	@for tool in aarch64-linux-gnu-gcc qemu-aarch64-static; do command -v $$tool >/dev/null || { \
	  echo "$$tool is not installed (Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)"; \
	  exit 1; }; done
	export CC=aarch64-linux-gnu-gcc CGO_ENABLED=1 GOARCH=arm64 OBJDUMP=aarch64-linux-gnu-objdump; \
	$(GO) vet ./... || exit 1; \
	run() { $(GO) test -tags netgo,osusergo -ldflags '-linkmode external -extldflags -static' -exec "qemu-aarch64-static -cpu $$1" $$2; }; \
	run max "./csrc ./internal/work/contend ./internal/work/c2c ./internal/work/memory" && run cortex-a57 ./csrc

.PHONY: fuzz
# Without its limit, a target spends a minute on each new input to make it smaller.
fuzz: ## each fuzz target for FUZZTIME (50000x: inputs)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	for package in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u); do \
	  $(GO) test -c -fuzz . -o "$$dir/fuzz" $$package || exit 1; \
	  for target in $$(grep -hEo '^func Fuzz\w+' $$package/*_test.go); do \
	    [ $$target != func ] || continue; \
	    echo "$$package $$target"; \
	    (cd $$package && "$$dir/fuzz" -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 10x \
	      -test.fuzzcachedir "$$($(GO) env GOCACHE)/fuzz/$$package" </dev/null) || exit 1; \
	  done; \
	done

.PHONY: bench
bench: ## speed and memory as ratios against named rivals, in interleaved rounds (nothing else running, 12 min)
	$(GO) test -run "^$$" -bench "Kernel|Worker$$|Instrumentation|Original" -benchtime $(ROUNDS)x -timeout 30m ./internal/work/primes
	$(GO) test -run "^$$" -bench "ManyWorkers|Pinned|Memory" -benchtime $(LONG_ROUNDS)x -timeout 30m ./internal/work/primes
	$(GO) test -run "^$$" -bench "LongJournal|Page|Start" -benchtime $(ROUNDS)x -timeout 30m ./cmd/gorun
	$(GO) test -run "^$$" -bench "DryRun|Cells" -benchtime $(LONG_ROUNDS)x -timeout 30m ./cmd/gorun
	$(GO) test -run "^$$" -bench "Child|Scheduler|LongRun" -benchtime $(LONG_ROUNDS)x -timeout 30m ./internal/run
	$(GO) test -run "^$$" -bench "Judge" -benchtime 1x -timeout 30m ./internal/work/fleet

.PHONY: bench-plans
bench-plans: ## each dry run on 2 to 4,096 CPUs: time, files opened (BEFORE=another gorun: compare with it; GORUN_DIR=1: see the benchmark)
	GORUN_BEFORE="$(BEFORE)" $(GO) test -run "^$$" -bench "DryRun" -benchtime $(LONG_ROUNDS)x -timeout 60m ./cmd/gorun

.PHONY: bench-contend
bench-contend: ## contend and c2c compared with ccont, if in PATH, or plain C, on 1 and 2 CPUs (nothing else running, 4 min)
	$(GO) test -run "^$$" -bench "Contend|C2C" -benchtime $(ROUNDS)x -timeout 30m ./cmd/gorun

.PHONY: bench-metrics
bench-metrics: ## runs scraped each second, compared with runs without scrapes (nothing else running, 16 min)
	$(GO) test -run "^$$" -bench "^BenchmarkMetrics$$" -benchtime $(SCRAPED_ROUNDS)x -timeout 60m ./cmd/gorun

.PHONY: bench-numa
bench-numa: ## numa's probe compared with plain C, and its load with stress-ng, if in PATH (nothing else running, 14 min)
	$(GO) test -run "^$$" -bench "Numa/./[KM]iB" -benchtime $(ROUNDS)x -timeout 30m ./cmd/gorun
	$(GO) test -run "^$$" -bench "Numa/./GiB" -benchtime $(LONG_ROUNDS)x -timeout 30m ./cmd/gorun
	$(GO) test -run "^$$" -bench "Duty" -benchtime $(ROUNDS)x -timeout 30m ./internal/start/load

# PRESET is the table of numa-rfc: rfc-intel or rfc-amd.
PRESET ?= rfc-intel
.PHONY: numa-rfc
numa-rfc: ## the 36 rows of the RFC (PRESET=rfc-amd: with its second table's samples) on this machine, as root: hours
	$(GO) build -o gorun ./cmd/gorun
	./gorun numa --preset $(PRESET) --dry-run
	./gorun numa --preset $(PRESET) --out numa-$(PRESET).jsonl

.PHONY: bench-pair
bench-pair: ## two processes on one CPU compared with two CPUs, and with plain C (nothing else running, 4 min)
	$(GO) test -run "^$$" -bench "Pair" -benchtime $(ROUNDS)x -timeout 30m ./cmd/gorun

.PHONY: vm
vm: ## boot real kernels with many CPUs and nodes in QEMU, and run the tests there (MACHINES: only some; MACHINE=epyc8 CMD='gorun numa': run that)
	testdata/vm/run setup
	$(if $(MACHINE),testdata/vm/run boot $(MACHINE) -- sh -c '$(CMD)',testdata/vm/run test $(MACHINES))

.PHONY: vm-clock
vm-clock: ## boot a machine ten times while others are busy: is its clock as fast as this machine's? (6 min)
	testdata/vm/run setup
	testdata/vm/run clocks

.PHONY: vm-pnid
vm-pnid: ## build a kernel with a preferred node, and run the tests that need it or NUMA balancing (25 min, then 2; ROUNDS=30: judge)
	testdata/vm/run setup
	testdata/vm/preferred-node/test

.PHONY: vm-pmu
vm-pmu: ## boot a machine whose CPU counts cycles and instructions, and find the cause of differences there (3 min)
	testdata/vm/pmu test

.PHONY: kubernetes
kubernetes: ## a real Kubernetes of two nodes runs the Job of gorun fleet template: kills, a slow node (as root, nothing else running, 7 min; first 30 min to build it)
	testdata/kubernetes/run

.PHONY: ci-long
ci-long: TIMEOUT = 90m
ci-long: ## checks that take too long for .ci/run: a kernel build, the whole selftest, packages, long fuzzing (3 h)
	$(MAKE) vm
	$(MAKE) vm-pnid
	$(MAKE) vm-pmu
	$(MAKE) vm-clock
	$(MAKE) kubernetes
	$(MAKE) selftest
	$(MAKE) slurm
	GORUN_TEST=$@ $(RUN_TESTS) ./internal/stats
	GORUN_TEST=$@ $(RUN_TESTS) -run '^(TestAllFlagValues|TestLiveServer.*)$$' ./cmd/gorun
	$(MAKE) exec-test
	$(MAKE) scarce-test
	$(MAKE) rivals
	$(MAKE) dist-test
	$(MAKE) fuzz

.PHONY: power
power: ## rounds and seconds until a difference is found, for each recording, and the best placement (NOISE: another directory of recordings)
	GORUN_NOISE=$(NOISE) $(GO) test ./internal/stats -run '^$$' -bench 'RoundsToClaim|Placements' -benchtime 1x -timeout 1h

.PHONY: record
record: ## record the runs of testdata/runs again in QEMU, with their views (RUNS: only some; 10 min)
	testdata/vm/run setup
	testdata/runs/record $(RUNS)
	$(GO) test ./internal/publish/report -run '^TestViews$$' -update

.PHONY: capture
capture: ## capture the QEMU machines again into testdata/hosts
	testdata/vm/run setup
	testdata/vm/run capture

# Where `make report-test` writes the journals, the reports and their screenshots.
REPORTS ?= /tmp/gorun-reports

.PHONY: report-test
report-test: build ## reports of real runs read in headless Chromium: numbers, faults, accessibility (1 min; screenshots in REPORTS)
	@for tool in $${CHROMIUM:-chromium} npm; do command -v $$tool >/dev/null || { \
	  echo "$$tool is not installed (Debian: apt-get install chromium npm)"; exit 1; }; done
	npm ci --prefix testdata/report --silent
	node testdata/report/test.js ./gorun $(REPORTS)

.PHONY: man
man: ## write the man pages to ./man
	mkdir -p man
	$(MANUAL) man

.PHONY: completions
completions: build ## write shell completions to ./completions
	mkdir -p completions
	./gorun completion bash >completions/gorun.bash
	./gorun completion zsh >completions/_gorun
	./gorun completion fish >completions/gorun.fish

.PHONY: update
update: ## write the golden files again; read the diff before you commit it
	$(GO) test ./internal/work/fleet ./internal/record/result ./internal/machine/topology ./internal/publish/render ./internal/publish/report ./internal/publish/metrics -update
	$(GO) test ./cmd/gorun -update

.PHONY: clean
clean: ## remove the files that the targets made
	rm -rf gorun man completions dist
