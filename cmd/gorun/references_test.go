package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/aclements/go-moremath/stats"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/linux"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
)

// readSource reads a table in testdata/references: what the lines before it say ("# machine: …"; lines with the same key are
// one text), and its rows by the names of the columns. "-" is a figure that is not given.
func readSource(t *testing.T, name string) (head map[string]string, rows []map[string]string) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/references/" + name + ".tsv")
	require.NoError(t, err)
	var columns []string
	head = map[string]string{}
	for line := range strings.Lines(string(text)) {
		if said, ok := strings.CutPrefix(line, "# "); ok {
			key, value, _ := strings.Cut(strings.TrimSpace(said), ": ")
			head[key] = strings.TrimSpace(head[key] + " " + value)
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if columns == nil {
			columns = cells
			continue
		}
		require.Len(t, cells, len(columns), "%s: %q", name, line)
		row := map[string]string{}
		for i, cell := range cells {
			row[columns[i]] = cell
		}
		rows = append(rows, row)
	}
	return head, rows
}

// sourceRows returns the rows of a table.
func sourceRows(t *testing.T, name string) []map[string]string {
	t.Helper()
	_, rows := readSource(t, name)
	return rows
}

// number reads a figure; NaN where the source has none.
func number(t *testing.T, text string) float64 {
	t.Helper()
	if text == "-" {
		return math.NaN()
	}
	x, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return x
}

// The tables are complete, and their figures are consistent.
func TestReferences(t *testing.T) {
	for name, rows := range map[string]int{"goroutines": 38, "pair": 3, "contend": 15, "numa": 72, "migrations": 2 * 14} {
		assert.Len(t, sourceRows(t, name), rows, name)
	}
	for _, name := range []string{"numa", "contend"} {
		for _, row := range sourceRows(t, name) {
			least, mean, greatest := number(t, row["min"]), number(t, row["avg"]), number(t, row["max"])
			assert.True(t, least <= mean && mean <= greatest, "%s: %v", name, row)
			assert.LessOrEqual(t, number(t, row["stdev"]), greatest-least+0.001, "%s: %v", name, row)
		}
	}
	for _, row := range sourceRows(t, "migrations") {
		sum := 0.0
		for _, kind := range []string{"same_core", "same_llc", "same_node", "cross_node"} {
			if x := number(t, row[kind]); !math.IsNaN(x) {
				sum += x
			}
		}
		// Two sums of the source are 1 off.
		assert.InDelta(t, number(t, row["total"]), sum, 1, "%v", row)
	}
	for _, row := range sourceRows(t, "contend") {
		assert.Equal(t, number(t, row["cpus"]), float64(strings.Count(row["pattern"], "*")), "%v", row)
	}
}

// measured are the figures of a row of a source: the mean and the standard deviation of n samples.
type measured struct{ mean, stdev, n float64 }

// ratio returns the ratio of two means, with its interval of 99.9% by Welch's t (the difference over the mean of the second).
type ratio struct{ is, lo, hi float64 }

func (a measured) over(b measured) ratio {
	va, vb := a.stdev*a.stdev/a.n, b.stdev*b.stdev/b.n
	freedom := (va + vb) * (va + vb) / (va*va/(a.n-1) + vb*vb/(b.n-1))
	margin := stats.InvCDF(stats.TDist{V: freedom})(0.9995) * math.Sqrt(va+vb) / b.mean
	return ratio{a.mean / b.mean, a.mean/b.mean - margin, a.mean/b.mean + margin}
}

func (r ratio) String() string { return fmt.Sprintf("%.3f (%.3f to %.3f)", r.is, r.lo, r.hi) }

func slower(r ratio) bool { return r.lo > 1 }
func faster(r ratio) bool { return r.hi < 1 }
func same(r ratio) bool   { return r.lo > 0.95 && r.hi < 1.05 }

func TestWelch(t *testing.T) {
	// t of 0.9995 with 18 degrees of freedom is 3.922 (any table of it), and the standard error is 1.
	r := measured{110, math.Sqrt(5), 10}.over(measured{100, math.Sqrt(5), 10})
	assert.InDelta(t, 1.1, r.is, 1e-9)
	assert.InDelta(t, 1.1-0.03922, r.lo, 1e-5)
	assert.InDelta(t, 1.1+0.03922, r.hi, 1e-5)
	assert.True(t, slower(r) && !faster(r) && !same(r))
}

// judge returns the verdict on a claim.
func judge(holds bool) string {
	if holds {
		return "holds"
	}
	return "does not hold"
}

const untestable = "cannot be tested here"

// claims returns a row of the topic for each claim of the references. A figure that gorun measured is from the machine that the
// row names.
func claims(t *testing.T) (rows [][]string) {
	add := func(claim, verdict, figure, machine, command string) {
		rows = append(rows, []string{claim, verdict, figure, machine, "`" + command + "`"})
	}

	// The pool of goroutines.
	const rig = "the source's, 16 CPUs, one run a row"
	seconds := map[string]float64{}
	for _, row := range sourceRows(t, "goroutines") {
		seconds[row["focus"]+" "+row["workers"]] = number(t, row["seconds"])
	}
	alone, pool := seconds["No GR 50"], seconds["GR ON 50"]
	add("goroutines: goroutines on 16 CPUs are faster than one worker after another", judge(pool < alone/2),
		fmt.Sprintf("%.2f s against %.2f s, a ratio of %.1f", pool, alone, alone/pool), rig,
		"gorun matrix primes --preset original")
	// Each range leaves its last number out: one in 200,000/workers.
	left := func(workers float64) float64 { return 1 - workers/200_000 }
	got, rest := seconds["No GR 20000"], alone*left(20_000)
	add("goroutines: more and smaller pieces of work are faster", judge(math.Abs(got/rest-1) > 0.05),
		fmt.Sprintf("each range skips its last number: with 20,000 workers %.0f%% of the work is left, which takes %.2f s; "+
			"measured were %.2f s", 100*left(20_000), rest, got), rig, "gorun matrix primes --split contiguous,original --limit 20000 --method modulo --workers 50,5000")
	got, rest = seconds["GR ON 50000"], pool*left(50_000)
	add("goroutines: 50,000 goroutines are the fastest, 2.97 s", judge(math.Abs(got/rest-1) > 0.05),
		fmt.Sprintf("%.0f%% of the work is left, which takes %.2f s; measured were %.2f s", 100*left(50_000), rest, got), rig,
		"gorun matrix primes --split contiguous,original --limit 20000 --method modulo --workers 50,5000")
	rest = pool * left(100_000)
	add("goroutines: 100,000 goroutines take 3.55 s", untestable,
		fmt.Sprintf("the machine is not known, and there is one run; %.0f%% of the work is left, which would take %.2f s",
			100*left(100_000), rest), rig, "gorun primes --limit 200000 --method modulo --workers 100000")
	primes := 0
	composite := make([]bool, 200_001)
	for n := 2; n < len(composite); n++ {
		if !composite[n] {
			primes++
			for m := 2 * n; m < len(composite); m += n {
				composite[m] = true
			}
		}
	}
	add("goroutines: there are 17,984 primes up to 200,000", judge(primes == 17_984), strconv.Itoa(primes), "any",
		"gorun primes --limit 200000")
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	require.NoError(t, err)
	nice, err := linux.GetNice(0)
	require.NoError(t, err)
	add("goroutines: a thread's nice value that is read back is a little off", judge(raw != 20-nice),
		"the system call returns 20 − nice, which is 20 for nice 0 (getpriority(2)), and nothing is lost", "any Linux",
		"gorun primes --nice 5")

	// Two processes.
	const xeon = "the source's, Xeon Platinum 8255C, 16 CPUs, one run a row"
	cases := map[string]float64{}
	for _, row := range sourceRows(t, "pair") {
		cases[row["case"]] = number(t, row["real"])
	}
	add("affinity: two processes on one CPU take twice as long as on two CPUs",
		judge(math.Abs(cases["same-cpu"]/cases["different-core"]-2) < 0.1),
		fmt.Sprintf("%.2f s against %.2f s, a ratio of %.2f", cases["same-cpu"], cases["different-core"],
			cases["same-cpu"]/cases["different-core"]), xeon, "gorun pair --auto")
	add("affinity: CPUs 0 and 1 of the test are on the same core", "does not hold",
		fmt.Sprintf("the source's lscpu has 1 thread per core, so both cases are of two cores: %.2f s and %.2f s",
			cases["same-core"], cases["different-core"]), xeon, "gorun topo")
	add("affinity: a thread with a CPU of its own, with all others moved off, runs at full speed", untestable,
		"the source has no figure; the command compares a CPU of its own, freed of others, with the same CPU shared", "none",
		"gorun matrix exec --cpus 1 --dedicate none,1 -- COMMAND")
	add("affinity: binding saves the cost of refilling a cache after a migration", untestable,
		"the source has no figure; the command measures what a forced migration costs, against none", "none", "gorun migrate")

	// Bound processes.
	bound, trials := readSource(t, "measured/bind")
	here, interval := bound["machine"], trials[1]["ratio"]
	lo, _, _ := strings.Cut(interval, " to ")
	add("bind: a bound process is never on another CPU", "holds",
		"no deviation in 2,000,000 checks: 10 trials of 20 processes, each with 10,000", here, "gorun bind")
	add("bind: binding makes sums in the cache nearly 10% faster", judge(number(t, lo) < 0.92),
		"bound over unbound is "+interval+" (95%); the source's table is a picture without figures", here, "gorun bind")

	// Contention.
	const two = "the source's, 2 nodes of 4 CPUs, one run a row; the intervals are of its threads"
	ops := map[string]measured{}
	for _, row := range sourceRows(t, "contend") {
		ops[row["load"]+" "+row["pattern"]] = measured{number(t, row["avg"]), number(t, row["stdev"]), number(t, row["cpus"])}
	}
	many, one := ops["cpu-increase **** ****"].mean, ops["cpu-increase *--- ----"].mean
	add("ccont: more CPUs on one cache line are slower by up to a factor of 24", judge(math.Abs(many/one/24-1) < 0.05),
		fmt.Sprintf("%.1f ns on 8 CPUs against %.1f ns on one: a factor of %.1f", many, one, many/one), two,
		"gorun contend --op cmpxchg-fail --load cpu-increase")
	spread := ops["cpu-rollover **-- **--"].over(ops["cpu-rollover **** ----"])
	add("ccont: compare-and-swap by threads that are spread over nodes is slower than on one node", judge(slower(spread)),
		"half on each node over all on node 0: "+spread.String(), two, "gorun contend --op cmpxchg-fail --load cpu-rollover")
	remote := ops["node-cascade ---- ****"].over(ops["node-cascade **** ----"])
	add("ccont: all threads on the node without the memory are nearly as fast", judge(same(remote)),
		"node 1 over node 0: "+remote.String(), two, "gorun contend --op cmpxchg-fail --load node-cascade")

	// The probe of NUMA.
	row := func(machine string, n int) measured {
		for _, r := range sourceRows(t, "numa") {
			if r["machine"] == machine && number(t, r["row"]) == float64(n) {
				return measured{number(t, r["avg"]), number(t, r["stdev"]), map[string]float64{"intel": 64, "amd": 36}[machine]}
			}
		}
		require.Fail(t, "no row", "%s %d", machine, n)
		return measured{}
	}
	intel, amd := map[int]measured{}, map[int]measured{}
	for n := range 36 {
		intel[n], amd[n] = row("intel", n), row("amd", n)
	}
	const (
		xeon2      = "the source's, Xeon Platinum 8167M, 104 CPUs, 2 nodes, 64 samples a row"
		epyc8      = "the source's, EPYC 7551, 128 CPUs, 8 nodes, 36 samples a row"
		intelTable = "gorun numa --preset rfc-intel"
		amdTable   = "gorun numa --preset rfc-amd"
	)
	// each compares pairs of rows: all of them must agree with the claim.
	each := func(on map[int]measured, pairs [][2]int, so func(ratio) bool) (verdict, figure string) {
		all, said := true, []string{}
		for _, p := range pairs {
			r := on[p[0]].over(on[p[1]])
			all = all && so(r)
			said = append(said, fmt.Sprintf("{%d} over {%d} %v", p[0], p[1], r))
		}
		return judge(all), strings.Join(said, "; ")
	}
	near, far := []int{0, 4, 9, 13, 18, 22, 27, 31}, []int{1, 3, 10, 12, 19, 21, 28, 30}
	all, least, greatest := true, math.Inf(1), 0.0
	for _, a := range far {
		for _, b := range near {
			r := intel[a].over(intel[b])
			all, least, greatest = all && slower(r), min(least, r.is), max(greatest, r.is)
		}
	}
	add("RFC: memory and CPU on the same node are faster than on two nodes", judge(all),
		fmt.Sprintf("two nodes over one: %.2f to %.2f, and each of the 64 intervals is above 1", least, greatest), xeon2,
		intelTable)
	verdict, figure := each(intel, [][2]int{{2, 1}, {5, 3}, {8, 1}, {11, 10}, {14, 12}}, slower)
	add("RFC: a CPU that floats, or a CPU and memory that do, are as slow as two nodes or slower", verdict, figure, xeon2,
		intelTable)
	verdict, figure = each(intel, [][2]int{{17, 8}}, faster)
	add("RFC: NUMA balancing helps if memory and CPU float", verdict, figure, xeon2, intelTable)
	on0, on1, floats := intel[11].over(intel[2]), intel[14].over(intel[5]), intel[17].over(intel[8])
	add("RFC: NUMA balancing helps much less if the memory is bound", judge(min(on0.lo, on1.lo) > floats.hi),
		fmt.Sprintf("{11} over {2} %v; {14} over {5} %v; {17} over {8} %v", on0, on1, floats), xeon2, intelTable)
	verdict, figure = each(intel, [][2]int{{20, 2}, {20, 11}, {32, 5}, {32, 14}}, faster)
	add("RFC: a preferred node that is the memory's is a great gain for a CPU that floats", verdict, figure, xeon2,
		intelTable)

	// Its traces.
	type trace struct{ cross, total, from0 float64 }
	traces, atMost := map[string]trace{}, map[string]float64{}
	for _, r := range sourceRows(t, "migrations") {
		k := strings.Join([]string{r["machine"], r["pnid"], r["nb"], r["mem"], r["cpu"]}, " ")
		tr := traces[k] // means of the two traces
		tr.cross += number(t, r["cross_node"]) / 2
		tr.total += number(t, r["total"]) / 2
		tr.from0 += number(t, r["from_0"]) / 2
		traces[k] = tr
		atMost[k] = max(atMost[k], number(t, r["cross_node"]))
	}
	pinned := max(atMost["intel -1 0 0 0"], atMost["intel -1 0 1 1"], atMost["intel -1 0 1 0"])
	add("RFC: a probe whose memory and CPU are bound does not change nodes but at its start", judge(pinned <= 1),
		fmt.Sprintf("%.0f migration between nodes at most in 6 traces", pinned), xeon2, intelTable)
	var x, y []float64
	for k, n := range map[string]int{
		"intel -1 0 0 0": 0, "intel -1 0 1 1": 4, "intel -1 0 1 0": 3, "intel -1 0 F F": 8, "intel -1 1 F F": 17,
		"intel 0 1 F F": 26, "intel -1 0 0 F": 2, "intel -1 1 0 F": 11, "intel 0 1 0 F": 20,
	} {
		require.Contains(t, traces, k)
		x, y = append(x, traces[k].cross), append(y, intel[n].mean)
	}
	r := correlation(x, y)
	// 0.666 is the 5% point of r for 9 pairs (t of 7 degrees of freedom).
	add("RFC: more migrations between nodes go with longer times", judge(r > 0.666),
		fmt.Sprintf("correlation %.2f over %d rows, two traces each (beyond 0.67 by chance in 5 of 100)", r, len(x)), xeon2,
		intelTable)
	off, on := traces["intel -1 0 F F"].cross, traces["intel -1 1 F F"].cross
	add("RFC: with NUMA balancing there are far fewer migrations between nodes if memory and CPU float", judge(on < off/2),
		fmt.Sprintf("%.0f against %.0f, means of two traces", on, off), xeon2, intelTable)

	verdict, figure = each(amd, [][2]int{{9, 0}, {18, 0}, {18, 9}}, same)
	add("RFC: bound to one node, balancing and a preferred node make no difference", verdict, figure, epyc8, amdTable)
	verdict, figure = each(amd, [][2]int{{10, 1}, {19, 1}, {19, 10}}, same)
	add("RFC: nor do they with memory and CPU bound to two nodes", verdict, figure, epyc8, amdTable)
	verdict, figure = each(amd, [][2]int{{2, 1}}, slower)
	add("RFC: a CPU that floats is worse than two nodes", verdict, figure, epyc8, amdTable)
	verdict, figure = each(amd, [][2]int{{11, 2}}, faster)
	add("RFC: balancing helps somewhat if the memory is bound", verdict, figure, epyc8, amdTable)
	verdict, figure = each(amd, [][2]int{{20, 11}, {20, 2}}, faster)
	add("RFC: a preferred node that is the memory's is a great gain", verdict, figure, epyc8, amdTable)
	preferred, tied := amd[20].over(amd[0]), intel[20].over(intel[0])
	add("RFC: the gain is smaller on the AMD machine than on the Intel one, where it beats binding",
		judge(faster(tied) && slower(preferred)), fmt.Sprintf("{20} over {0}: Intel %v, AMD %v", tied, preferred), epyc8,
		amdTable)
	base, balanced, set := traces["amd -1 0 0 F"], traces["amd -1 1 0 F"], traces["amd 0 1 0 F"]
	slow := amd[2].over(amd[11])
	add("RFC: {2} is slower than {11}, though it has fewer migrations", judge(base.total < balanced.total && slower(slow)),
		fmt.Sprintf("%.0f migrations against %.0f, means of two traces; the time of {2} over {11}: %v", base.total,
			balanced.total, slow), epyc8, amdTable)
	add("RFC: with a preferred node there are fewer migrations between nodes, and far fewer away from node 0",
		judge(set.cross < min(base.cross, balanced.cross) && set.from0 < min(base.from0, balanced.from0)),
		fmt.Sprintf("{20} %.0f, {11} %.0f, {2} %.0f between nodes; %.0f, %.0f, %.0f away from node 0; means of two traces",
			set.cross, balanced.cross, base.cross, set.from0, balanced.from0, base.from0), epyc8, amdTable)
	split, whole := traces["amd -1 0 0 1"].total, traces["amd -1 0 0 0"].total
	splitIntel, wholeIntel := traces["intel -1 0 1 0"].total, traces["intel -1 0 0 0"].total
	add("RFC: memory and CPU bound to two nodes have more migrations than bound to one",
		judge(split > whole && splitIntel > wholeIntel),
		fmt.Sprintf("AMD %.0f against %.0f, Intel %.0f against %.0f, means of two traces", split, whole, splitIntel,
			wholeIntel),
		"both of the source's", amdTable)
	return rows
}

// correlation returns Pearson's correlation.
func correlation(x, y []float64) float64 {
	mx, my, xy, xx, yy := stats.Mean(x), stats.Mean(y), 0.0, 0.0, 0.0
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	return xy / math.Sqrt(xx*yy)
}

// beside is a table of a text next to the same table as gorun measured it.
type beside struct {
	name    string   // of testdata/references/NAME.tsv and of measured/NAME.tsv
	machine string   // whose rows these are, where the text has several machines
	keys    []string // columns that distinguish the rows; measured has those that it takes to find a row
	figures []string // columns of the text
	base    int      // the row to which the ratio is
	ratio   string   // the figure whose ratio is shown; "": none
	own     []string // columns of measured
}

// sections are those of `gorun help references`, one for each text.
var sections = []struct {
	claims, title string // claims is what the text's claims begin with
	tables        []beside
}{
	{"goroutines", "A pool of goroutines", []beside{{
		name: "goroutines", keys: []string{"focus", "lock", "cpus", "thread", "priority", "workers"}, figures: []string{"seconds"},
		base: 4, ratio: "seconds", own: []string{"ratio"},
	}}},
	{"affinity", "Two processes with an affinity", []beside{{
		name: "pair", keys: []string{"case", "cpu_a", "cpu_b"}, figures: []string{"real", "user", "sys"}, ratio: "real",
		own: []string{"real", "user", "sys", "ratio"},
	}}},
	{"bind", "Processes bound to cores", []beside{{
		name: "bind", keys: []string{"case"}, figures: []string{"faster_percent"}, own: []string{"seconds", "ratio"},
	}}},
	{"ccont", "Contention for a cache line", []beside{{
		name: "contend", keys: []string{"load", "pattern"}, figures: []string{"min", "max", "avg", "stdev"},
		own: []string{"min", "max", "avg", "stdev"},
	}}},
	{"RFC", "Memory, CPUs and a preferred node", []beside{
		rfcTable("intel"), rfcTable("amd"),
		rfcTraces("intel", "same_core", "same_node", "cross_node", "total"),
		rfcTraces("amd", "same_core", "same_llc", "same_node", "cross_node", "to_0", "from_0", "total"),
	}},
}

func rfcTable(machine string) beside {
	return beside{
		name: "numa", machine: machine, keys: []string{"row", "pnid", "nb", "mem", "cpu"},
		figures: []string{"avg", "max", "min", "stdev"}, ratio: "avg", own: []string{"avg", "stdev", "ratio"},
	}
}

func rfcTraces(machine string, kinds ...string) beside {
	return beside{
		name: "migrations", machine: machine, keys: []string{"pnid", "nb", "mem", "cpu"}, figures: kinds,
		own: []string{"per_second"},
	}
}

// titles are those of columns that are called otherwise in a page.
var titles = map[string]string{
	"lock": "F1", "cpus": "F2", "thread": "F3", "priority": "F4", "seconds": "s", "faster_percent": "faster, %",
	"same_core": "core", "same_llc": "LLC", "same_node": "node", "cross_node": "cross", "to_0": "to 0", "from_0": "from 0",
	"per_second": "a second", "cpu_a": "A", "cpu_b": "B",
}

// text returns the table as a code block, since its columns must stay next to each other; first also says what was measured,
// and how.
func (b beside) text(t *testing.T, first bool) string {
	head, all := readSource(t, b.name)
	ours, measured := readSource(t, "measured/"+b.name)
	rows := slices.DeleteFunc(all, func(row map[string]string) bool { return row["machine"] != b.machine })
	shown := table.Table{Whole: true}
	for _, name := range slices.Concat(b.keys, b.figures) {
		shown.Add(cmp.Or(titles[name], name))
	}
	if b.ratio != "" {
		shown.Add("ratio")
	}
	shown.Add("|")
	for _, name := range b.own {
		shown.Add(cmp.Or(titles[name], name))
	}
	found := map[int]bool{}
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for _, name := range slices.Concat(b.keys, b.figures) {
			cells[i] = append(cells[i], row[name])
		}
		if b.ratio != "" {
			cells[i] = append(cells[i], fmt.Sprintf("%.2f", number(t, row[b.ratio])/number(t, rows[b.base][b.ratio])))
		}
		cells[i] = append(cells[i], "|")
		at := slices.IndexFunc(measured, func(m map[string]string) bool {
			return !slices.ContainsFunc(b.keys, func(key string) bool { return m[key] != "" && m[key] != row[key] })
		})
		found[at] = true
		for _, name := range b.own {
			cell := "-"
			if at >= 0 {
				cell = measured[at][name]
			}
			cells[i] = append(cells[i], cell)
		}
	}
	delete(found, -1)
	if first {
		assert.Len(t, found, len(measured), "measured/%s: each row is one of the text's", b.name)
	}
	for _, texts := range cells {
		row := table.Row{}
		for i, text := range texts {
			if i < len(b.keys) && b.keys[i] != "workers" || text == "|" {
				row.Values = append(row.Values, table.Text(text))
			} else {
				row.Values = append(row.Values, table.Given(text))
			}
		}
		shown.Rows = append(shown.Rows, row)
	}
	grid := term.Table(shown, term.Options{})
	left := strings.Index(grid, "|")
	require.Positive(t, left)
	for line := range strings.Lines(grid) {
		require.LessOrEqual(t, term.Width(strings.TrimSuffix(line, "\n")), topicWidth-2, "%s", b.name)
	}
	machine := head[strings.TrimSpace("machine "+b.machine)]
	require.NotEmpty(t, machine, "%s: %s", b.name, b.machine)
	said := machine + "."
	if first {
		said += " " + head["note"]
	}
	made := term.Paragraph("", "The text: "+said, sourceWidth) + "\n"
	if first {
		made += term.Paragraph("", "gorun: `"+ours["command"]+"` on "+ours["machine"]+". "+ours["note"], sourceWidth) + "\n"
	}
	return made + "```\n" + term.Pad("the text", left) + "| gorun\n" + grid + "```\n\n"
}

// sourceWidth is that of the lines of the topic's Markdown.
const sourceWidth = 128

// `gorun help references` has the tables of the sources next to gorun's, and the verdicts that follow from the figures of the
// sources.
func TestReferencesTopic(t *testing.T) {
	const file = "topics/references.md"
	var made strings.Builder
	judged, shown := claims(t), 0
	for _, section := range sections {
		head, _ := readSource(t, section.tables[0].name)
		made.WriteString("## " + section.title + "\n\n" + term.Paragraph("", "Source: "+head["source"]+".", sourceWidth) + "\n")
		for i, table := range section.tables {
			made.WriteString(table.text(t, i == 0 || table.name != section.tables[i-1].name))
		}
		made.WriteString("| Claim | Verdict | Figure | Machine | Command |\n| --- | --- | --- | --- | --- |\n")
		for _, row := range judged {
			if claim, ok := strings.CutPrefix(row[0], section.claims+": "); ok {
				made.WriteString("| " + claim + " | " + strings.Join(row[1:], " | ") + " |\n")
				shown++
			}
		}
		made.WriteString("\n")
	}
	assert.Len(t, judged, shown, "each claim is in a section")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	intro, _, found := strings.Cut(string(text), "## ")
	require.True(t, found)
	want := intro + strings.TrimSuffix(made.String(), "\n")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(text), "go test ./cmd/gorun -run TestReferencesTopic -update")
}
