package journal

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/base/hint"
	"gorun/internal/judge/matrix"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/work/bind"
	"gorun/internal/work/c2c"
	"gorun/internal/work/command"
	"gorun/internal/work/contend"
	"gorun/internal/work/futex"
	"gorun/internal/work/memory"
	"gorun/internal/work/migrate"
	"gorun/internal/work/numa"
	"gorun/internal/work/pair"
	"gorun/internal/work/primes"
)

var experiments = render.Views{
	primes.Experiment, contend.Experiment, c2c.Experiment, numa.Experiment, command.Experiment,
	pair.Experiment, bind.Experiment, futex.Experiment, migrate.Experiment, memory.Experiment,
}

// recorded returns the lines of journals of real runs, by name.
func recorded(t testing.TB) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob("../../../testdata/runs/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	journals := map[string][]string{}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		for _, file := range archive.Files {
			if file.Name == "run.jsonl" {
				lines := strings.SplitAfter(string(file.Data), "\n")
				journals[strings.TrimSuffix(filepath.Base(path), ".txtar")] = judgedNow(t, lines[:len(lines)-1])
			}
		}
	}
	return journals
}

// judgedNow returns the lines of a journal as this gorun writes them: its footers follow from the samples by its own rules.
func judgedNow(t testing.TB, lines []string) []string {
	t.Helper()
	var header, footer result.Line
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &header))
	if header.Header.Matrix == nil {
		return lines
	}
	rules := &header.Header.Matrix.Rules
	*rules = max(*rules, matrix.Reproduced) // by the latest ones, their cells might have left earlier
	write := func(i int, line result.Line) {
		text, err := json.Marshal(line)
		require.NoError(t, err)
		lines[i] = resealed(string(text))
	}
	for i, line := range lines {
		if strings.HasPrefix(line, `{"footer":`) {
			rec, err := check(lines[:i+1])
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal([]byte(line), &footer))
			footer.Footer.Cells = rec.Run.Cells
			write(i, footer)
		}
	}
	write(0, header)
	return lines
}

// check reads lines like every command.
func check(lines []string) (*Recording, error) {
	return read(strings.NewReader(strings.Join(lines, "")), experiments.Known)
}

// leaf is a value in a line's JSON, and how to replace it.
type leaf struct {
	path  string // without indices, the names of flags, and the numbers of CPUs and nodes
	value any
	set   func(any)
}

func leaves(path string, value any, set func(any), all []leaf) []leaf {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			kind := name
			if strings.HasSuffix(path, "cells[].flags") || strings.HasSuffix(path, "cells[].cpus") || name[0] <= '9' {
				kind = "*"
			}
			all = leaves(path+"."+kind, value[name], func(v any) { value[name] = v }, all)
		}
	case []any:
		for i := range value {
			all = leaves(path+"[]", value[i], func(v any) { value[i] = v }, all)
		}
	default:
		all = append(all, leaf{strings.TrimPrefix(path, "."), value, set})
	}
	return all
}

// changed returns another value of the same type.
func changed(random *rand.Rand, value any) any {
	switch value := value.(type) {
	case bool:
		return !value
	case string:
		if value == "" || random.IntN(4) == 0 {
			return value + "x"
		}
		at := random.IntN(len(value))
		return value[:at] + string('a'+(value[at]+1)%26) + value[at+1:]
	case json.Number:
		whole, err := strconv.ParseInt(value.String(), 10, 64)
		if err != nil {
			x, _ := value.Float64()
			return []any{-x, 2 * x, x / 3, x * (1 + 1e-6), x + 800}[random.IntN(5)]
		}
		return []any{-whole - 1, whole + 1, 2*whole + 1, whole + 1000}[random.IntN(4)]
	}
	return 1 // null
}

// A value is one in a line of a journal. Its kind is its path in the journals of a design.
type value struct {
	kind, journal string
	line, leaf    int
}

// values returns the first value of each kind. It is in the shortest journal that has one, which is judged in the shortest time.
func values(t *testing.T, journals map[string][]string) (all []value) {
	t.Helper()
	size := func(name string) int { return len(strings.Join(journals[name], "")) }
	kinds := map[string]bool{}
	for _, name := range slices.SortedFunc(maps.Keys(journals), func(a, b string) int { return size(a) - size(b) }) {
		rec, err := check(journals[name])
		require.NoError(t, err, name)
		design := "none"
		if rec.Run.Matrix != nil {
			design = cmp.Or(rec.Run.Matrix.Order.Design, "blocks")
		}
		for line, text := range journals[name] {
			_, of := tree(t, text)
			for i, leaf := range of {
				if kind := design + ": " + leaf.path; !kinds[kind] {
					kinds[kind], all = true, append(all, value{kind, name, line, i})
				}
			}
		}
	}
	return all
}

// tree returns the JSON of a line, without its checksum, and its values.
func tree(t *testing.T, line string) (root map[string]any, all []leaf) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&root))
	delete(root, "crc32")
	return root, leaves("", root, nil, nil)
}

// change changes a value of a line, and corrects the checksum.
func change(t *testing.T, random *rand.Rand, line string, of int) string {
	t.Helper()
	root, all := tree(t, line)
	all[of].set(changed(random, all[of].value))
	text, err := json.Marshal(root)
	require.NoError(t, err)
	return resealed(string(text))
}

// free lists the values that nothing else in a journal depends on: a change is found only by the checksum of the line.
var free = []struct{ path, why string }{
	{`header\.(host|tool|command|started|experiment)\b`, "where, when and by what was measured"},
	{`header\.(spec|caches|numa_rows)\b`, "the options; the rows of numa, which its samples name by number"},
	{`header\.seed`, "in a run whose order is not drawn, or in one whose order other seeds give too"},
	{`header\.partial`, "what counts is in the footer"},
	{`header\.matrix\.rules`, "by other rules, other verdicts follow"},
	{`header\.matrix\.(title|columns|datum_label|order\.method|figures\[\]\.label)\b`, "words"},
	{`header\.matrix\.order\.rule`, "a key that only earlier versions wrote"},
	{`header\.matrix\.order\.block_cells`, "of a run without blocks"},
	{`rows: header\.matrix\.baseline`, "of a run that compares no rows"},
	{`pairs: header\.matrix\.order\.first`, "but the cell of the first sample"},
	{`header\.matrix\.(budget_seconds|warmup|rounds|margin|precision|alpha)`, "where the verdicts are the same with it"},
	{`header\.cells\[\]\.(group|comment|command|lines)\b`, "words; flags that are not in the command"},
	{`sample\.(values|user_seconds|system_seconds|load_seconds|cpus|workers_detail)\b`, "figures that are not compared"},
	{`header\.asked\b`, "what was asked for: --resume compares it with what is asked then"},
	{`sample\.workers\.`, "but the order of the times, the imbalance, and how many finished"},
	{`sample\.partial`, "of the last sample of a run without a summary"},
	{`sample\.answer\b`, "of a run that has asked a question once, or compares no answers"},
	{`sample\.placement\.(requested|checked)`, "what was read back is not kept"},
	{`sample\.placement\.verified`, "of an invalid sample"},
	{`sample\.quality\.(reasons|signals)`, "what was counted is not kept twice"},
	{`sample\.account\.(kernel|others)`, "what was counted is not kept twice"},
	{`sample\.elapsed_seconds`, "as long as it lies between the samples"},
	{`footer\.(findings|warnings|partial|overhead)`, "what the run was told, how it ended, and what gorun itself used"},
	{`header\.files\b`, "the files that it measures: --resume compares them with those that are there then"},
	{`footer\.cells\[\](\.[a-z_]+)*\.(words|reason)$`, "sentences, which change from one gorun to the next"},
}

// isFree reports whether a change of a value may stay undetected.
func isFree(v value, lines []string) bool {
	if strings.HasSuffix(v.kind, ": sample.seconds") { // which a summary in the footer follows from
		rec, err := check(lines)
		if err != nil {
			return false
		}
		s := rec.Run.Samples.At(v.line - 1)
		summed := rec.Run.Summary != nil || rec.Run.Matrix != nil && rec.Run.Matrix.Compared == ""
		return !s.Good() || !summed
	}
	for _, f := range free {
		if regexp.MustCompile("^([a-z]+: )?" + f.path).MatchString(v.kind) {
			return true
		}
	}
	return false
}

var lineNamed = regexp.MustCompile(`line (\d+)`)

// Each kind of value in journals of real runs of every design is changed, and the line gets the checksum of its new text
// (TestReadFlippedAnywhere has changes that the checksum finds). A contradiction finds the change unless nothing depends on the
// value, and names the changed line or a later one that contradicts it.
func TestChangedJournals(t *testing.T) {
	journals := recorded(t)
	delete(journals, "matrix-classic") // whose verdicts take 0.2 s: all it has alone are words and contrasts
	random := rand.New(rand.NewPCG(14, 9))
	all := values(t, journals)
	for _, v := range all {
		whole := journals[v.journal]
		lines := slices.Clone(whole)
		lines[v.line] = change(t, random, lines[v.line], v.leaf)
		_, err := check(lines)
		if err == nil {
			assert.True(t, isFree(v, whole), "%s, line %d, %s was changed: %s", v.journal, v.line+1, v.kind, lines[v.line])
			continue
		}
		require.NotEmpty(t, hint.Of(err))
		require.NotRegexp(t, goInternals, err.Error())
		named := lineNamed.FindStringSubmatch(err.Error())
		require.NotNil(t, named, err)
		number, err := strconv.Atoi(named[1])
		require.NoError(t, err)
		require.GreaterOrEqual(t, number, v.line+1, "%s, %s", v.journal, v.kind)
	}
	assert.Greater(t, len(all), 500)
}
