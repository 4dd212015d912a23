package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/shell"
)

// refusals are command lines of wrong use, as in a shell, with the error and, after "…", the hint; "…" is any text. MACHINE stands for a
// plan on a captured machine of 2 nodes of 4 CPUs. A rule that several flags share is there once: TestFlagValues tries each flag.
var refusals = [...]struct{ line, says string }{
	{`primes --limit -5`, `--limit -5: a whole number of at least 0 is needed`},
	{`primes --limit 99999999999999999999`, `--limit 99999999999999999999: the number is out of range`},
	{`primes --limit 9223372036854775808`, `--limit 9223372036854775808: give a number from 0 to 9223372036854775807`},
	{`primes --workers -1`, `--workers -1: give a number from 0 to 10000000`},
	{`primes --gomaxprocs -1`, `--gomaxprocs -1: give a number from 0 to 32767`},
	{`primes --warmup -1`, `--warmup -1: give a number from 0 to 1000000000`},
	{`primes --warmup 9223372036854775807`, `--warmup 9223372036854775807: give a number from 0 to 1000000000`},
	{`primes --samples 9223372036854775807`, `--samples 9223372036854775807: give a number from 1 to 1000000000`},
	{`primes --samples 0`, `--samples 0: give a number from 1 to 1000000000`},
	{`primes --budget -1s`, `--budget -1s: it cannot be negative`},
	{`primes --dispatch pigeon`, `--dispatch pigeon: there are goroutine, executor`},
	{`primes --format xml`, `--format xml: unknown format: there are table, json, csv, markdown, benchfmt`},
	{`primes --serial --barrier`, `--barrier needs all workers to run at the same time…leave out --serial and --dispatch execut…`},
	{`primes --serial --dispatch executor`, `--serial and --dispatch executor exclude each other`},
	{`primes 50000`, `gorun primes takes no arguments, but got "50000"`},
	{`primes --limit 5 --pin-cpus=`, `--pin-cpus "": the value is empty…give a value, or leave the flag out`},
	{`primes --sysroot qemu-numa2`, `--sysroot names a captured machine, which cannot run anything…add --dry-run, without --est…`},
	{`primes --dry-run --sysroot missing.txtar`, `--sysroot missing.txtar: cannot open the recorded machine: stat missing.txtar…`},
	{`topo --sysroot missing.txtar`, `--sysroot missing.txtar: cannot open the recorded machine: stat missing.txtar: no such fi…`},
	{`primes --cpus 60000 MACHINE`, `--cpus 60000: CPU 60000 is not present…the CPUs that can be chosen are 0-7`},
	{`primes --cpus 70000 MACHINE`, `--cpus 70000: not a CPU list: "70000": CPU numbers end at 65535…write CPU numbers and rang…`},
	{`primes --cpus nodes:1 MACHINE`, `--cpus nodes:1: "nodes:1" does not select CPUs…write CPU numbers and ranges (0-3,8) or a…`},
	{`primes --cpus node:77 MACHINE`, `--cpus node:77: this machine has no node 77 with an online CPU…it has node 0,1`},
	{`primes --cpus isolated, MACHINE`, `--cpus isolated,: "isolated" selects none of the CPUs 0-7…gorun topo shows what there…`},
	{`primes '--metrics-listen=(' --dry-run`, `--metrics-listen (: not a listen address…write HOST:PORT…`},
	{`primes --metrics-listen here:there`, `--metrics-listen here:there: not a listen address…write HOST:PORT, as…`},
	{`primes --metrics-linger 1s`, `--metrics-linger has nothing to serve…give --metrics-listen too`},
	{`exec --placement one_cpu -- true`, `--placement one_cpu: no placement "one_cpu"…is it one-cpu? there are unbound…`},
	{`primes --method bruet`, `--method bruet: …is it brute?`},
	{`bench --vary placment=unbound`, `--vary placment=unbound: …is it placement? gomaxprocs=1,2…`},
	{`primes --metrics-textfile dir/x.txt`, `--metrics-textfile dir/x.txt: node_exporter reads only files that end in .prom`},
	{`primes --metrics-textfile x`, `--metrics-textfile x: node_exporter reads only files that end in .prom…name it x.prom`},
	{`primes --export-json x.json --export-markdown x.json`, `--export-json x.json and --export-markdown x.json are the same fi…`},
	{`contend --count 0`, `--count 0: give at least 1`},
	{`contend --count 5 --time 1s`, `--count and --time exclude each other`},
	{`contend --time 2ms`, `--time 2ms: with windows of 1ms it must be from 10ms to 1m40s…give another --time or --window`},
	{`contend --time 1000h`, `--time 1000h0m0s: with windows of 1ms it must be from 10ms to 1m40s…give another --time or --wind…`},
	{`contend --window 1us`, `--window 1us: give at least 500µs`},
	{`contend --variant sse`, `--variant sse: …`},
	{`c2c --method hope`, `--method hope: there are cas, write, faa`},
	{`c2c --pairs some`, `--pairs some: there are all, per-core, per-llc`},
	{`c2c --cpus 3 MACHINE`, `a pair needs two CPUs, and the run has 1…give two or more by --cpus; gorun topo shows the CPUs`},
	{`c2c --pairs all --budget 10ms MACHINE`, `28 pairs need at least 70ms, and the budget is 10ms…--budget 70ms, or --pairs pe…`},
	{`matrix c2c '--cpus=0-2 3-5' MACHINE`, `the cells have no row in common with the baseline's…give each cell two CPUs: --cpu…`},
	{`numa --preset rfc`, `--preset rfc: there is no preset "rfc"…rfc-intel, rfc-amd`},
	{`numa --preset latency`, `--preset latency: gorun memory measures the time of an access by the size of the memory…gorun memory --latency`},
	{`memory --latency --loaded`, `--loaded and --latency measure different things…leave one of them out`},
	{`numa --rows few`, `--rows few: there are some, all`},
	{`numa --accesses 0`, `--accesses 0: give at least 1`},
	{`numa --repetitions 0`, `--repetitions 0: give at least 1`},
	{`numa --mem-policy preferred`, `--mem-policy preferred: "preferred" is not a way to bind memory…there are bind, bind+balan…`},
	{`numa --first-touch later`, `--first-touch later: "later" is not a first touch…there are near, far, interleaved, before`},
	{`pair`, `a pair is two CPUs, A and B, which may be the same…gorun pair 0 1, or gorun pair --auto for one pair of each rela…`},
	{`pair zero 0 MACHINE`, `CPU A zero: "zero" does not select CPUs…write CPU numbers and ranges (0-3,8) or all, node:N, llc:N…`},
	{`pair 0 60000 MACHINE`, `CPU B 60000: CPU 60000 is not present…the CPUs that can be chosen are 0-7`},
	{`pair 0 one-per-core MACHINE`, `CPU B one-per-core: these are 4 CPUs…name one of them`},
	{`pair 0 1 --cpus 1 MACHINE`, `CPU A 0: CPU 0 is not in --cpus…the CPUs that can be chosen are 1`},
	{`pair 0 1 --cpus 0 --dry-run --sysroot qemu-offline`, `CPU B 1: CPU 1 is offline…the CPUs that can be chosen are 0`},
	{`pair 0 0 0 MACHINE`, `LOOPS 0: it is not a whole number from 1 on…without it each process makes 500000`},
	{`pair 0 0 many MACHINE`, `LOOPS many: it is not a whole number from 1 on…without it each process makes 500000`},
	{`pair MACHINE 0 0 -- -5`, `LOOPS -5: it is not a whole number from 1 on…without it each process makes 500000`},
	{`pair 0 0 5 6 MACHINE`, `gorun pair takes A, B and LOOPS, but got "6" too`},
	{`pair --auto 0 1`, `--auto chooses the CPUs itself, but got 2 arguments…give LOOPS alone, or the CPUs without --auto`},
	{`pair 0 0 --interval 1ms`, `--interval 1ms: at least 10ms is needed`},
	{`pair 0 0 --array 2MiB`, `--array is of the work sum, and this is syscall…give --work sum`},
	{`pair 0 0 --work sum --array 64KiB,2MiB`, `--array 64KiB,2MiB: give a single size`},
	{`pair 0 0 --margin 5%`, `--margin is for comparing pairs, and this is one…give --auto`},
	{`pair 0 0 --precision 5%`, `--precision is for comparing pairs, and this is one…give --auto`},
	{`matrix pair --work syscall,spin`, `cell --work syscall: a pair is two CPUs, A and B, which may be the same…gorun pair 0 1…`},
	{`bind --processes 0`, `--processes 0: give a number from 1 to 4194304`},
	{`bind --trials 0`, `--trials 0: give a number from 1 to 1000`},
	{`bind --checks 0`, `--checks 0: give at least 1`},
	{`bind --array 4KiB,8KiB`, `--array 4KiB,8KiB: give a single size`},
	{`bind --array 1GiB --passes 99999999999`, `--passes 99999999999 over 1073741824 bytes would never end…give fewer --passes`},
	{`bind '--masks=0 x' MACHINE`, `--masks 0 x: "x" does not select CPUs…write CPU numbers and ranges (0-3,8) or all, node:N,…`},
	{`matrix bind --trials 2`, `unknown flag: --trials`},
	{`futex 0`, `give two CPUs, A and B, which may be the same, instead of 1…gorun futex 0 1, or gorun futex for one pair of ea…`},
	{`futex --round-trips 0`, `--round-trips 0: give a number from 1 to 1000000`},
	{`migrate 0 1`, `gorun migrate takes no arguments, but got "0"`},
	{`migrate --relation same-node --dry-run --sysroot qemu-cpu2`, `--relation same-node: no two CPUs of the run are same-node:…`},
	{`exec`, `no command was given…gorun exec --cpus 0 -- COMMAND ARGS…`},
	{`exec --mempolicy bind false`, `--mempolicy bind: the memory policy bind takes 1 to 65536 nodes, not 0`},
	{`exec --preferred-node -2 false`, `--preferred-node -2: give at least -1`},
	{`exec --placement everywhere false`, `--placement everywhere: no placement "everywhere"…there are unbound, one-cpu, smt-sib…`},
	{`exec --placements foo -- false`, `--placements foo: no placement "foo"…there are unbound, one-cpu, smt-si…`},
	{`exec --placements unbound MACHINE false`, `--placements unbound: one value cannot be compared…give several, joined by commas, or…`},
	{`exec --placements unbound,unbound MACHINE false`, `--placements unbound,unbound: unbound is there twice`},
	{`exec --placements auto --device eth9 MACHINE false`, `--device eth9: there is no device eth9…`},
	{`exec --device ens5 false`, `--device adds to --placements auto, and there is none…name the placements: near-ens5, far-ens5`},
	{`exec --placement one-cpu --mempolicy local false`, `--placement and --mempolicy exclude each other: a placement has its own`},
	{`exec --metric '(x)' false`, `--metric (x): say which figure is better: --better higher, or --better lower`},
	{`exec --better lower false`, `--better needs --metric`},
	{`exec --samples 3 false`, `--samples is for comparing, and one command is run once…add --placements auto, or use gorun matr…`},
	{`exec --gomaxprocs -1 false`, `--gomaxprocs -1: it cannot be negative`},
	{`exec --timeout -1s false`, `--timeout -1s: it cannot be negative`},
	{`exec --dedicate 4000 MACHINE false`, `--dedicate 4000: CPU 4000 is not present…the CPUs that can be chosen are 0-7`},
	{`exec --dedicate all MACHINE false`, `--dedicate all: these are 8 CPUs…name one of them`},
	{`exec --all false`, `--all is about --dedicate, which was not given`},
	{`exec --dedicate 0 --placement one-cpu false`, `--placement and --dedicate exclude each other: the command runs on the CPU…`},
	{`exec --dedicate 0 --placements auto false`, `--placements and --dedicate exclude each other: the command runs on the CPU t…`},
	{`exec --shell -- cd /`, `--shell is for a command that is one text, and there is none…--shell --command 'cd /'`},
	{`exec --command true -- false`, `--command and words after the flags exclude each other: each is the command`},
	{`matrix exec --nice 18,19`, `no command was given…gorun matrix exec [flags] -- COMMAND [ARGS…]`},
	{`matrix primes --workers 1,2 -- true`, `cell --workers 1: gorun primes takes no arguments, but got "true"`},
	{`matrix nothing`, `there is no experiment "nothing"…gorun matrix takes primes, contend, c2c, numa, exec, pair, bind, futex…`},
	{`matrix primes --workers 1,2 --estimate MACHINE`, `--sysroot names a captured machine, which cannot run anything…`},
	{`matrix primes --pin-cpus ' ' --workers 2,20`, `--pin-cpus  : a value is missing`},
	{`matrix primes --workers 2,x`, `--workers x: a whole number is needed`},
	{`matrix primes --file missing.yaml`, `--file missing.yaml: no such file or directory`},
	{`matrix primes --file rows.yaml --preset quick`, `--file and --preset exclude each other`},
	{`matrix primes --preset nosuch`, `--preset nosuch: there is no preset "nosuch"…presets: quick, classic, original, rfc-inte…`},
	{`matrix primes --workers 2,20 --resume`, `--resume has no journal to continue…name it by --out`},
	{`ab`, `no command was given…gorun ab 'COMMAND A' 'COMMAND B'`},
	{`ab true`, `one command is nothing to compare…give another command, each with its arguments in quotes, as 'sort FILE', or…`},
	{`ab true flags.go`, `command 2: exec: "flags.go": executable file not found in $PATH…each command is one argument, with it…`},
	{`ab true false --fail-on nosuch`, `--fail-on nosuch: "nosuch" is not a verdict of --fail-on…there are slower, faster, wors…`},
	{`ab true false --ignore-failure=0`, `--ignore-failure 0: "0" is not an exit code of a failure, 1 to 255`},
	{`ab true true --output written --metric '(x)' --better lower`, `cell true: --metric and --output exclude each other: the f…`},
	{`ab true false --metric '(x)' --metric '(y)' --better lower --better higher --better lower`, `cell true: --better has 3 directions, and --metric 2 figures…give one for all, or one for each: --better higher,lower`},
	{`ab 'echo a | cat' true`, `cell echo a | cat: --command echo a | cat: "echo a | cat" needs a shell…add --shell to have it…`},
	{`ab 'sleep 0.01 ; true' true`, `cell sleep 0.01 ; true: --command sleep 0.01 ; true: "sleep 0.01 ; true" needs a shell`},
	{`live --pid 1`, `say what to compare: --vary…--vary placement=auto compares what the program has with all that can matte…`},
	{`live --vary placement=auto MACHINE`, `say what to measure: --metric…--metric REGEX --load 'COMMAND', or --metric NAME --met…`},
	{`live --vary gomaxprocs=1,2 MACHINE`, `--vary gomaxprocs=1,2: it names no setting and its values…settings are placement, cpu…`},
	{`live --vary placement=same-llc,0 --metric process:cpu MACHINE`, `--vary placement=same-llc,0: no placement "same-llc" of a…`},
	{`live --vary cpus=0 --metric process:cpu MACHINE`, `there is only one setting to compare…list several, the first is the bas…`},
	{`live --vary cpus=0,1 --metric x --better lower,higher --load x MACHINE`, `--better has 2 directions, and --metric 1 figures`},
	{`compare`, `compare takes one journal, or pairs of A and B, but got 0…gorun compare before.jsonl after.jsonl`},
	{`compare run.jsonl run.jsonl --across nosuch`, `--across nosuch: no such condition…there are version, binary, go, c-compiler, kernel,…`},
	{`report -o x.html`, `report needs one journal or more…gorun report run.jsonl -o report.html`},
	{`report --serve nowhere`, `--serve nowhere: not a listen address…`},
	{`exec --placement everywhere`, `--placement everywhere: no placement "everywhere"…`},
	{`ab --cpus 60000`, `--cpus 60000: CPU 60000 is not present…`},
	{`live --vary nice=0,99`, `cell --nice 99: --nice 99: give a number from -20 to 19`},
	{`live --pid 1 --unit x`, `--pid, --cgroup and --unit exclude each other: each names a program…`},
	{`matrix primes --pin-cpus 60000`, `--pin-cpus 60000: CPU 60000 is not present…`},
	{`fleet node --node ..`, `--node ..: it names a directory…`},
	{`report run.jsonl`, `report has nowhere to write to…give -o report.html, or --serve 127.0.0.1:0`},
	{`report run.jsonl -o x.html --serve 127.0.0.1:0`, `--out and --serve exclude each other`},
	{`report run.jsonl --serve nowhere`, `--serve nowhere: not a listen address…write HOST:PORT, as in 127.0.0.1:0`},
	{`report run.jsonl --out x.html --serve-name build.lan`, `--serve-name is about --serve, which was not given`},
	{`report run.jsonl --serve 127.0.0.1:0 --serve-name build.lan:80`, `--serve-name build.lan:80: not the name of a machine…without a port…`},
	{`journal verify`, `verify needs one journal or more…gorun journal verify run.jsonl`},
	{`journal check`, `unknown command "check" of journals…gorun journal takes verify`},
}

// Wrong use is one error, with exit code 2, before any work begins; there is nothing on stdout, and nothing is left behind.
func TestRefused(t *testing.T) {
	hosts, err := filepath.Abs("../../testdata/hosts")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for _, c := range refusals {
		line := strings.ReplaceAll(c.line, "MACHINE", "--dry-run --sysroot qemu-numa2")
		args, err := shell.Split(regexp.MustCompile(`qemu-\w+`).ReplaceAllString(line, hosts+"/$0.txtar"))
		require.NoError(t, err)
		o := dryRun(t, args)
		assert.Equal(t, exitUsage, o.code, c.line)
		assert.Empty(t, o.stdout, c.line)
		says := strings.ReplaceAll(regexp.QuoteMeta(c.says), "…", "(.|\n)*")
		assert.Regexp(t, "^gorun: error: "+says+"(\ngorun: hint: .*)?\n$", o.stderr, c.line)
	}
	left, err := filepath.Glob("*")
	require.NoError(t, err)
	assert.Empty(t, left)
}
