package journal

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/files/input"
	"gorun/internal/files/jsonl"
	"gorun/internal/publish/document"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
)

// edit replaces the first match in a line and corrects its checksum.
func edit(t *testing.T, lines []string, number int, match, by string) []string {
	t.Helper()
	lines = slices.Clone(lines)
	of := regexp.MustCompile(match)
	found := of.FindStringIndex(lines[number-1])
	require.NotNil(t, found, "%s in %s", match, lines[number-1])
	line := lines[number-1]
	lines[number-1] = resealed(line[:found[0]] + of.ReplaceAllString(line[found[0]:found[1]], by) + line[found[1]:])
	return lines
}

// Each journal of a real run is consistent, even if cut off after any line.
func TestRecordedRuns(t *testing.T) {
	for name, lines := range recorded(t) {
		for n := range lines {
			rec, err := check(lines[:n+1])
			require.NoError(t, err, "%s, %d lines", name, n+1)
			require.NoError(t, rec.Unjudged)
			assert.Equal(t, n+1 == len(lines), rec.Ended, name)
			judged := rec.Run.Matrix != nil && rec.Run.Matrix.Order.Design == ""
			assert.Equal(t, judged, rec.Run.Matrix != nil && rec.Run.Matrix.Control != nil, name)
		}
	}
}

// Parts of a journal that depend on each other are checked even if each line's checksum is correct.
func TestContradictions(t *testing.T) {
	const (
		blocks = "matrix"           // 80 samples in randomised complete blocks
		rows   = "numa-blocks"      // 2 samples of each of 2 cells
		pairs  = "bind"             // 3 pairs
		steps  = "exec-steps"       // of 3 cells, tried in order
		plain  = "primes-disturbed" // 3 samples without cells, and their summary
	)
	type lines = []string
	// exchange swaps the places of two lines.
	exchange := func(t *testing.T, l lines, a, b int, of string) lines {
		x, y := regexp.MustCompile(of).FindString(l[a-1]), regexp.MustCompile(of).FindString(l[b-1])
		require.NotEqual(t, x, y)
		return edit(t, edit(t, l, a, of, y), b, of, x)
	}
	journals := recorded(t)
	for _, c := range []struct {
		of        string
		line      int
		match, by string
		want      string
	}{
		{blocks, 1, `"seed":\d+`, `"seed":12345`, "line 1: the order of the first round: first: "},
		{rows, 1, `"baseline":0`, `"baseline":2`, "line 1: the baseline is cell 2 of 2"},
		{blocks, 1, `"method":"modulo"`, `"method":"brute"`, "line 1: "},
		{blocks, 1, `"count":2`, `"count":3`, "line 1: cell 0: \"0-1\" of"},
		{"futex", 1, `"wake_ns"`, `"wake_ms"`, "line 1: the cells are compared by wake_ms"},
		{rows, 4, `"cell":1`, `"cell":0`, "line 4: the sample, of cell 0 in round 0, is not the next one in the schedule"},
		{rows, 1, `"rounds":2`, `"rounds":1`, "line 3: the sample, of cell 0 in round 1, is not"},
		{blocks, 5, `"cell":\d`, `"cell":4`, "line 5: the sample is of cell 4 of 4"},
		{blocks, 2, `"cell":.*?,"seconds":`, `"seconds":`, "line 2: only one of the sample and the run has cells"},
		{plain, 3, `"seconds":`, `"seconds":-`, "line 3: the sample's wall time is -"},
		{plain, 3, `"seconds":[0-9.]+`, `"seconds":0`, "line 3: the sample is valid, but took no time"},
		{plain, 3, `"seconds":1`, `"seconds":801`, "line 3: the sample took 801."},
		{plain, 3, `"seconds":1\.646`, `"seconds":1.645`, "line 5: the footer's summary: seconds: "},
		{blocks, 7, `"is":"669"`, `"is":"670"`, "line 7: the sample is suspect, but the primes up to 5000 are 670 here and were 669 before"},
		{plain, 2, `"verdict":"suspect"`, `"verdict":"fine"`, `line 2: "fine" is not a verdict`},
		{plain, 2, `"verdict":"suspect"`, `"verdict":"valid"`, "line 2: the sample is valid, but has a reason against it"},
		{plain, 3, `"verified":true`, `"verified":false`, "line 3: the sample is valid, but its placement was not verified"},
		{plain, 3, `"finished":2`, `"finished":3`, "line 3: 3 of the sample's 2 workers finished"},
		{plain, 3, `"p99":[0-9.]+`, `"p99":0`, "line 3: the times of the sample's workers are not in order"},
		{plain, 3, `"imbalance":[0-9.]+`, `"imbalance":1`, "line 3: the imbalance of the sample's workers is 1"},
		{
			blocks, 82, `"verdict":\{"kind":"[^"]+"`, `"verdict":{"kind":"faster"`,
			`line 82: cell 1 of the footer: verdict: kind is "faster", but the rest of the journal gives "`,
		},
		{blocks, 1, `"flags":{"limit":"5000"`, `"flags":{"limit":"5001"`, `line 1: cell 0 has the value "5001" of --limit`},
		{
			blocks, 6, `"elapsed_seconds":[0-9.]+`, `"elapsed_seconds":0.001`,
			"line 6: the sample ended 0.001 s into the run, and the one before it ",
		},
		{
			plain, 3, `"verdict":"valid","reasons":\[\](.*)}}`, `"verdict":"suspect","reasons":["cut short"]${1}},"partial":true}`,
			"line 4: a sample follows one that was cut short",
		},
		{blocks, 82, `"cells":\[.*\],"findings"`, `"cells":[],"findings"`, "line 82: the footer has 0 cells, but the header 4"},
		{blocks, 1, `"rounds":16`, `"rounds":15`, "line 77: the run was over before this sample"},
		{blocks, 1, `"order":`, `"ranking":[0],"order":`, "line 1: the header has a verdict, before the first sample"},
		{rows, 1, `"flags":`, `"words":"slower","flags":`, "line 1: cell 0 has a verdict or a summary"},
		{blocks, 1, `("cells":\[{"name":"([^"]*)".*?},{"name":)"[^"]*"`, `${1}"${2}"`, "line 1: cells 0 and 1 both have the name "},
		{blocks, 3, `"seconds":0(\..*?"watched_seconds":)[0-9.]+`, `"seconds":800${1}900`, "line 3: the sample took 800."},
		{plain, 2, `"reasons":\[.*?\]`, `"reasons":[]`, "line 2: the sample is suspect, but has no reason"},
		{
			plain, 3, `"verified":true`, `"verified":true,"mismatches":["CPU 1"]`,
			"line 3: the sample's placement was verified, but has a mismatch",
		},
		{plain, 3, `"checked":\d+`, `"checked":-1`, "line 3: the sample's placement was checked -1 times"},
		{rows, 6, `"samples":4`, `"samples":4,"summary":{"samples":4}`, "line 6: the footer has one summary for several cells"},
		{pairs, 1, `"design":"pairs"`, `"design":"tombola"`, `line 1: this gorun does not know the design "tombola"`},
		{pairs, 1, `"alpha":[0-9.]+`, `"alpha":0`, "line 1: the error rate, 0, is not between 0 and 1"},
		{blocks, 1, `"matrix":`, `"mat":`, "line 1: the header has cells, but not how they are compared"},
		{blocks, 1, `"flags":`, `"against":3,"flags":`, "line 1: cell 0 is compared with cell 3, which is not a baseline"},
		{
			blocks, 1, `"flags":`, `"judged_by":{"column":"cpu_seconds","label":"s"},"flags":`,
			"line 1: cell 1 is judged by another figure than cell 0, with which it is compared",
		},
		{blocks, 1, `"order":`, `"contrasts":[{"a":1,"b":4}],"order":`, "line 1: contrast 0, of the cells 1 and 4, is not among the 4 cells"},
		{steps, 1, `"steps":\[.*?\],`, "", "line 1: cell 2 is compared with cell 1, which is not a baseline"},
		{steps, 1, `,{"cell":2,"work":2}`, "", "line 1: the search in order has 3 cells, and the number of its steps is 1"},
		{steps, 1, `"enough":"answer"`, `"enough":"precision"`, "line 1: a search in order does not end, or compare, as this one does"},
		{steps, 1, `"against":1`, `"against":0`, "line 1: step 1 leads from cell 0 to cell 2"},
		{steps, 1, `"cell":1,"work":2`, `"cell":2,"work":2`, "line 1: step 0 leads from cell 0 to cell 2"},
		{steps, 1, `"cell":2,"work":2`, `"cell":2,"work":0`, "line 1: step 1 does 0 times the work"},
		{steps, 1, `"order":`, `"reached":2,"order":`, "line 1: the header has a verdict, before the first sample"},
		{steps, 1, `"cell":1,"work":2`, `"cell":1,"work":1`, "line 29: sample 27 is not"},
		{blocks, 3, `"round":0`, `"round":1`, "line 3: sample 1 is not the one that the seed puts there"},
	} {
		t.Run(c.want, func(t *testing.T) {
			refused(t, strings.Join(edit(t, journals[c.of], c.line, c.match, c.by), ""), c.want, "")
		})
	}
	for name, c := range map[string]struct {
		of     string
		change func(t *testing.T, l lines) lines
		want   string
	}{
		"samples in another order": {blocks, func(t *testing.T, l lines) lines {
			return exchange(t, l, 3, 4, `"cell":\d,("control":true,)?`)
		}, "line 3: sample 1 is not the one that the seed puts there"},
		"the first of the pairs": {pairs, func(t *testing.T, l lines) lines {
			return exchange(t, l, 2, 3, `"cell":\d`)
		}, "line 2: the sample, of cell "},
		"a contrast of two baselines": {blocks, func(t *testing.T, l lines) lines {
			l = edit(t, l, 1, `"order":`, `"contrasts":[{"a":1,"b":0}],"order":`)
			l = edit(t, l, 1, `"baseline":0`, `"baseline":1`)
			return edit(t, l, 1, `"flags":`, `"against":0,"flags":`)
		}, "line 1: contrast 0 is of the cells 1 and 0, which have different baselines"},
		"a cell of a pair twice": {pairs, func(t *testing.T, l lines) lines {
			return edit(t, l, 3, `"cell":\d`, regexp.MustCompile(`"cell":\d`).FindString(l[1]))
		}, "line 3: the sample, of cell "},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, strings.Join(c.change(t, slices.Clone(journals[c.of])), ""), c.want, "")
		})
	}
}

func TestListsOfDifferentLengthDisagree(t *testing.T) {
	require.EqualError(t, agrees("the order", []int{1}, []int{1, 2}), "the order is [1], but the rest of the journal gives [1,2]")
}

// A contradiction may be of another version of gorun, which the hint names.
func TestContradictionNamesTheWriter(t *testing.T) {
	lines := edit(t, recorded(t)["primes"], 2, `"index":0`, `"index":1`)
	_, err := check(lines)
	require.EqualError(t, err, "line 2: the sample's index is 1 instead of 0")
	header, _ := tree(t, lines[0])
	version := header["header"].(map[string]any)["tool"].(map[string]any)["version"].(string)
	assert.Contains(t, hint.Of(err), "unchanged copy of the file, or read it with the gorun that wrote it, version "+version)
}

// What --format json prints of each real run is read as the journal is, and checked too.
func TestReadJSON(t *testing.T) {
	readAs := func(text string) (*result.Run, error) {
		return readJSON(strings.NewReader(text), experiments.Known, assert.AnError)
	}
	var matrix string
	for name, lines := range recorded(t) {
		rec, err := check(lines)
		require.NoError(t, err)
		if len(rec.Run.Cells) > 1 {
			rec.Run.Cells[1].Why = &result.Why{Rounds: 20, Parts: []result.Part{}, Cause: result.WhyWaiting}
		}
		var printed strings.Builder
		require.NoError(t, document.Show(&printed, render.Views{}.Run(rec.Run), "json", term.Options{}))
		run, err := readAs(printed.String())
		require.NoError(t, err, name)
		want, err := json.Marshal(rec.Run)
		require.NoError(t, err)
		got, err := json.Marshal(run)
		require.NoError(t, err)
		assert.JSONEq(t, string(want), string(got), name)
		if name == "matrix" {
			matrix = printed.String()
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"no run":         {"{}", assert.AnError.Error()},
		"another schema": {`{"schema": "gorun/v1"}`, `its schema is "gorun/v1"`},
		"another type":   {strings.Replace(matrix, `"samples": [`, `"samples": 1, "was": [`, 1), "it is not the JSON of a run"},
		"no such cell":   {strings.Replace(matrix, `"baseline": 0`, `"baseline": 9`, 1), "contradict each other: the baseline is cell 9 of 4"},
		"a sample":       {strings.Replace(matrix, `"index": 5`, `"index": 6`, 1), "contradict each other: sample 5: the sample's index is 6"},
		"a verdict":      {regexp.MustCompile(`("verdict": \{\s*"kind": ")[^"]*`).ReplaceAllString(matrix, "${1}mixed"), "cell 1 of the footer: verdict: kind"},
	} {
		require.NotEqual(t, matrix, c.text, name)
		_, err := readAs(c.text)
		require.ErrorContains(t, err, c.want, name)
		assert.True(t, name == "no run" || hint.Of(err) != "", name)
	}
}

// A file is read once, so that it may be a pipe: the journal, or the run that --format json printed.
func TestReadRun(t *testing.T) {
	journal := text(t, plain(t, 4))
	want := reads(t, journal)
	var printed strings.Builder
	require.NoError(t, document.Show(&printed, render.Views{}.Run(want.Run), "json", term.Options{}))
	for _, content := range []string{string(journal), printed.String()} {
		path := filepath.Join(t.TempDir(), "fifo")
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		go func() { _ = os.WriteFile(path, []byte(content), 0o600) }() // it waits for the reader
		rec, run, err := ReadRun(t.Context(), input.Opener{Named: io.Discard}, path, experiments.Known)
		require.NoError(t, err)
		assert.Equal(t, content == printed.String(), rec == nil)
		if rec != nil {
			run = rec.Run
		}
		assert.Equal(t, want.Run.Samples.Len(), run.Samples.Len())
	}
	sparse := journalPath(t)
	require.NoError(t, os.WriteFile(sparse, nil, 0o600))
	require.NoError(t, os.Truncate(sparse, 1<<40))
	_, _, err := ReadRun(t.Context(), input.Opener{}, sparse, experiments.Known)
	require.ErrorContains(t, err, "it is a binary file; it is larger than 256 MiB")
}

// A line has no character that acts, and its values come back as they were.
func TestHostileLine(t *testing.T) {
	name := "a\x1b[31m\u009b\u2028\u202e\u007f\n"
	line, err := jsonl.Marshal(result.Line{Header: &result.Run{Schema: result.Schema, Experiment: name}})
	require.NoError(t, err)
	assert.False(t, strings.ContainsFunc(strings.TrimSuffix(string(line), "\n"), hint.Acts), "%q", line)
	assert.Equal(t, name, reads(t, line).Run.Experiment)
}
