package journal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
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

	"gorun/internal/bind"
	"gorun/internal/c2c"
	"gorun/internal/command"
	"gorun/internal/contend"
	"gorun/internal/futex"
	"gorun/internal/hint"
	"gorun/internal/journal"
	"gorun/internal/migrate"
	"gorun/internal/numa"
	"gorun/internal/pair"
	"gorun/internal/primes"
	"gorun/internal/render"
	"gorun/internal/result"
)

var experiments = render.Views{
	primes.Experiment, contend.Experiment, c2c.Experiment, numa.Experiment, command.Experiment,
	pair.Experiment, bind.Experiment, futex.Experiment, migrate.Experiment,
}

// recorded returns the lines of journals of real runs, by name.
func recorded(t testing.TB) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/runs/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	journals := map[string][]string{}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		for _, file := range archive.Files {
			if file.Name == "run.jsonl" {
				lines := strings.SplitAfter(string(file.Data), "\n")
				journals[strings.TrimSuffix(filepath.Base(path), ".txtar")] = lines[:len(lines)-1]
			}
		}
	}
	return journals
}

// check reads lines like every command.
func check(lines []string) (journal.Recording, error) {
	rec, err := result.ReadJournal(strings.NewReader(strings.Join(lines, "")))
	if err != nil {
		return journal.Recording{}, err
	}
	return journal.Check(rec, experiments.Known)
}

var checksum = regexp.MustCompile(`,"crc32":"([^"]*)"}\n$`)

// sealed returns a line with the checksum of its text.
func sealed(line string) string {
	text := checksum.ReplaceAllString(line, "}")
	return fmt.Sprintf("%s,\"crc32\":\"%08x\"}\n", text[:len(text)-1], crc32.ChecksumIEEE([]byte(text)))
}

// leaf is a value in a line's JSON, and how to replace it.
type leaf struct {
	path  string // indices and names of flags left out
	value any
	set   func(any)
}

func leaves(path string, value any, set func(any), all []leaf) []leaf {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			all = leaves(path+"."+name, value[name], func(v any) { value[name] = v }, all)
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

// change changes one value of a line. The line keeps its checksum.
func change(t *testing.T, random *rand.Rand, line string) (path, text string) {
	t.Helper()
	var tree map[string]any
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&tree))
	delete(tree, "crc32")
	all := leaves("", tree, nil, nil)
	of := all[random.IntN(len(all))]
	of.set(changed(random, of.value))
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	require.NoError(t, encoder.Encode(tree))
	body := strings.TrimSuffix(out.String(), "\n")
	return of.path, body[:len(body)-1] + checksum.FindString(line)
}

// free lists the values that nothing else in a journal depends on: a change is found only by the checksum of the line.
var free = []struct{ path, why string }{
	{`header\.(host|tool|command|started|experiment)\b`, "where, when and by what was measured"},
	{`header\.(spec|caches|numa_rows)\b`, "the options; the rows of numa, which its samples name by number"},
	{`header\.seed`, "in a run whose order is not drawn, or in one whose order other seeds give too"},
	{`header\.partial`, "what counts is in the footer"},
	{`header\.matrix\.(title|columns|order\.method|figures\[\]\.label)\b`, "words"},
	{`header\.matrix\.order\.block_cells`, "of a run without blocks"},
	{`header\.matrix\.(budget_seconds|warmup|rounds|margin|precision|alpha)`, "where the verdicts are the same with it"},
	{`header\.cells\[\]\.(group|comment|command|lines)\b`, "words; flags that are not in the command"},
	{`sample\.(values|user_seconds|system_seconds|load_seconds|cpus|workers_detail)\b`, "figures that are not compared"},
	{`sample\.workers\.`, "but the order of the times, the imbalance, and how many finished"},
	{`sample\.partial`, "of the last sample of a run without a summary"},
	{`sample\.answer\b`, "of a run that has asked a question once, or compares no answers"},
	{`sample\.placement\.(requested|checked)`, "what was read back is not kept"},
	{`sample\.placement\.verified`, "of an invalid sample"},
	{`sample\.quality\.(reasons|signals)`, "what was counted is not kept twice"},
	{`sample\.elapsed_seconds`, "as long as it lies between the samples"},
	{`footer\.(findings|warnings|partial)`, "what the run was told, and how it ended"},
	{`footer\.cells\[\](\.[a-z_]+)*\.(words|reason)$`, "sentences, which change from one gorun to the next"},
}

// isFree reports whether a change of a value may stay undetected.
func isFree(path string, lines []string, at int) bool {
	if path == "sample.seconds" { // which a summary in the footer follows from
		rec, err := check(lines)
		if err != nil {
			return false
		}
		s := rec.Run.Samples[at-1]
		summed := rec.Footer().Summary != nil || rec.Run.Matrix != nil && rec.Run.Matrix.Datum == ""
		return !s.Good() || !summed
	}
	for _, f := range free {
		if regexp.MustCompile("^" + f.path).MatchString(path) {
			return true
		}
	}
	return false
}

var lineNamed = regexp.MustCompile(`line (\d+)`)

// Random values of real journals of every design are changed. The checksum finds a change and names its line. With a
// corrected checksum, a contradiction finds the change unless nothing depends on the value, and names the changed line
// or a later one that contradicts it.
func TestChangedJournals(t *testing.T) {
	journals := recorded(t)
	names := slices.Sorted(maps.Keys(journals))
	random := rand.New(rand.NewPCG(14, 9))
	changes := 25 * len(names)
	if testing.Short() {
		changes /= 5
	}
	byChecksum, there, later, unnoticed := 0, 0, 0, map[string]int{}
	for i := range changes {
		name := names[i%len(names)]
		whole := journals[name]
		lines := slices.Clone(whole)
		at := random.IntN(len(lines))
		if random.IntN(3) == 0 {
			at = []int{0, len(lines) - 1}[random.IntN(2)]
		}
		path, text := change(t, random, lines[at])

		lines[at] = text
		rec, err := check(lines)
		if at == len(lines)-1 {
			require.NoError(t, err, "%s, line %d, %s", name, at+1, path)
			require.True(t, rec.Torn, "a last line that is broken is left out")
			require.Equal(t, at, rec.Lines)
		} else {
			require.ErrorContains(t, err, fmt.Sprintf("line %d is broken: its checksum is ", at+1), "%s, %s", name, path)
		}
		byChecksum++

		lines[at] = sealed(text)
		_, err = check(lines)
		if err == nil {
			assert.True(t, isFree(path, whole, at), "%s, line %d, %s was changed: %s", name, at+1, path, lines[at])
			unnoticed[path]++
			continue
		}
		require.NotEmpty(t, hint.Of(err))
		require.NotRegexp(t, `unmarshal|Go value|invalid character|json:|strconv|\n`, err.Error())
		named := lineNamed.FindStringSubmatch(err.Error())
		require.NotNil(t, named, err)
		number, err := strconv.Atoi(named[1])
		require.NoError(t, err)
		require.GreaterOrEqual(t, number, at+1, "%s, %s", name, path)
		if number == at+1 {
			there++
		} else {
			later++
		}
	}
	assert.Equal(t, changes, byChecksum)
	assert.Positive(t, there)
	assert.Positive(t, later)
	t.Logf("%d changes of %d journals: all found by the checksum; with one that fits, %d found in their line, %d by a later "+
		"one", changes, len(names), there, later)
	for _, f := range free {
		n := 0
		for path, times := range unnoticed {
			if regexp.MustCompile("^" + f.path).MatchString(path) {
				n += times
			}
		}
		t.Logf("%4d unnoticed: %s (%s)", n, f.path, f.why)
	}
}
