package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/files/input"
	"gorun/internal/files/jsonl"
	"gorun/internal/record/result"
)

// sampleOf returns a sample of a plain run.
func sampleOf(t testing.TB, index int) *result.Sample {
	other, faults := -0.004, uint64(17)
	s := &result.Sample{
		Index: index, Seconds: 1.5 + float64(index)/1000, UserSeconds: 2.5, SystemSeconds: 0.25,
		Answer:    &result.Answer{Of: "primes up to 200000", Is: "17984"},
		CPUs:      []result.CPU{{CPU: 1, Workers: 3, BusySeconds: 1.25}},
		Placement: result.Placement{Requested: "pin-cpus 0-3 <>&", Verified: true, Checked: 4},
		Quality: result.Quality{
			Grade: result.Valid, Reasons: []string{},
			Signals: result.Signals{WatchedSeconds: 1.6, OtherSeconds: &other, MinorFaults: &faults},
		},
	}
	require.NoError(t, json.Unmarshal([]byte(`{"kernel": "avx2", "primes": 17984}`), &s.Values))
	return s
}

// plain returns the lines of a run with this number of samples that was stopped after two of them, resumed and completed.
func plain(t testing.TB, samples int) (lines []result.Line) {
	t.Helper()
	lines = append(lines, result.Line{Header: &result.Run{
		Schema: result.Schema, Experiment: "primes", Tool: result.Tool{Name: "gorun", Version: "v1.2.0"},
		Spec: map[string]any{"limit": float64(200000), "method": "brute", "pin-cpus": []any{"0", "1"}},
		Seed: math.MaxUint64, Started: "2026-01-02T03:04:05Z",
		Findings: []result.Finding{}, Warnings: []result.Warning{},
	}})
	footer := func(partial bool) {
		taken := samplesOf(lines)
		lines = append(lines, result.Line{Footer: &result.Footer{
			Samples: taken.Len(), Summary: result.Summarise(taken),
			Findings: []result.Finding{{Code: "steal", Message: fmt.Sprintf("after %d", taken.Len()), Value: 0.5}},
			Warnings: []result.Warning{{Code: "budget", Message: "it was short", Hint: "give more"}}, Partial: partial,
			Overhead: &result.Overhead{CPUSeconds: 0.5, Seconds: 9},
		}})
	}
	for i := range samples {
		if i == 2 {
			footer(true)
		}
		lines = append(lines, result.Line{Sample: sampleOf(t, i)})
	}
	footer(false)
	return lines
}

// text returns the lines as in a journal.
func text(t testing.TB, lines []result.Line) (all []byte) {
	t.Helper()
	for _, line := range lines {
		text, err := jsonl.Marshal(line)
		require.NoError(t, err)
		all = append(all, text...)
	}
	return all
}

var checksum = regexp.MustCompile(`,"crc32":"[0-9a-f]{8}"}$`)

// resealed returns a line with its end and its checksum, in place of the one that it may have.
func resealed(line string) string {
	text, err := jsonl.Marshal(json.RawMessage(checksum.ReplaceAllString(strings.TrimSuffix(line, "\n"), "}")))
	if err != nil {
		panic(err)
	}
	return string(text)
}

func reads(t testing.TB, journal []byte) *Recording {
	t.Helper()
	rec, err := read(bytes.NewReader(journal), experiments.Known)
	require.NoError(t, err)
	return rec
}

func samplesOf(lines []result.Line) (samples result.Samples) {
	for _, line := range lines {
		if line.Sample != nil {
			samples.Append(line.Sample)
		}
	}
	return samples
}

// Reading returns what was written, with the results of the last footer. Renderers and JSON need a list of samples.
func TestRead(t *testing.T) {
	lines := plain(t, 5)
	journal := text(t, lines)
	want, last := *lines[0].Header, lines[len(lines)-1].Footer
	want.Samples = samplesOf(lines)
	want.Summary, want.Findings, want.Warnings, want.Overhead = last.Summary, last.Findings, last.Warnings, last.Overhead
	assert.Equal(t, &Recording{
		Run: &want, Footed: 5, Ended: true, whole: int64(len(journal)), Lines: len(lines),
	}, reads(t, journal))

	assert.Zero(t, reads(t, []byte(resealed(`{"header":{"schema":"gorun/v2"}}`))).Run.Samples.Len())

	path := journalPath(t)
	_, err := Read(t.Context(), input.Opener{}, path, experiments.Known)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, journal[:len(journal)-1], 0o644))
	rec, err := Read(t.Context(), input.Opener{}, path, experiments.Known)
	require.NoError(t, err)
	assert.True(t, rec.Torn)
	assert.Equal(t, len(lines)-1, rec.Lines)
	require.NoError(t, os.WriteFile(path, []byte("words\n"), 0o644))
	_, err = Read(t.Context(), input.Opener{}, path, experiments.Known)
	assert.ErrorContains(t, err, path+": line 1 does not begin a journal")
}

// A journal cut at any place has exactly the samples on complete lines, and what the last complete footer says. It is the
// one of a run that is partial, unless that footer is the run's end.
func TestReadCutAnywhere(t *testing.T) {
	lines := plain(t, 4)
	journal := text(t, lines)
	headerEnd := bytes.IndexByte(journal, '\n') + 1
	for cut := range len(journal) + 1 {
		whole := bytes.Count(journal[:cut], []byte("\n"))
		rec, err := read(bytes.NewReader(journal[:cut]), experiments.Known)
		if cut < headerEnd {
			require.ErrorContains(t, err, map[bool]string{true: "is empty", false: "no complete line"}[cut == 0], "cut at %d", cut)
			require.Contains(t, hint.Of(err), "--out")
			continue
		}
		require.NoError(t, err, "cut at %d", cut)
		end := bytes.LastIndexByte(journal[:cut], '\n') + 1
		require.Equal(t, samplesOf(lines[:whole]), rec.Run.Samples, "cut at %d", cut)
		footed, findings := -1, []result.Finding{}
		for _, line := range lines[:whole] {
			if line.Footer != nil {
				footed, findings = line.Footer.Samples, line.Footer.Findings
			}
		}
		require.Equal(t, footed, rec.Footed, "cut at %d", cut)
		require.Equal(t, findings, rec.Run.Findings, "cut at %d", cut)
		require.EqualValues(t, end, rec.whole, "cut at %d", cut)
		require.Equal(t, whole, rec.Lines, "cut at %d", cut)
		require.Equal(t, cut != end, rec.Torn, "cut at %d", cut)
		require.Equal(t, cut == end && lines[whole-1].Footer != nil, rec.Ended, "cut at %d", cut)
		require.Equal(t, whole < len(lines), rec.Run.Partial, "cut at %d", cut)
	}
}

// goInternals are words of package json that mean nothing to a user.
const goInternals = `unmarshal|Go value|Go struct|invalid character|json:|strconv|\n`

// refused asserts that a journal gives a one-line error in words of users, with a hint.
func refused(t *testing.T, journal, want, way string) {
	t.Helper()
	_, err := read(strings.NewReader(journal), experiments.Known)
	require.ErrorContains(t, err, want)
	assert.NotRegexp(t, goInternals, err.Error())
	assert.Contains(t, hint.Of(err), way)
	if !strings.Contains(want, "is broken") {
		assert.NotEmpty(t, hint.Of(err))
	}
}

// A line that is not the right line there is refused by its number. What contradicts other lines is in TestContradictions.
func TestFaultyLines(t *testing.T) {
	good := strings.SplitAfter(string(text(t, plain(t, 3))), "\n")
	header, sample, footer := good[0], good[1], good[len(good)-2]
	replace := func(line, old, new string) string {
		require.Contains(t, line, old)
		return resealed(strings.Replace(line, old, new, 1))
	}
	none := replace(replace(footer, `"samples":3`, `"samples":0`), `"summary"`, `"sum"`)
	v3 := replace(header, result.Schema, "gorun/v3")
	v1, err := os.ReadFile(filepath.Join("testdata", "v1.jsonl"))
	require.NoError(t, err)
	for name, c := range map[string]struct{ journal, want, way string }{
		"no header":            {sample, "line 1: it comes before the header", ""},
		"footer first":         {footer, "line 1: it comes before the header", ""},
		"second header":        {header + sample + header, "line 3: a second header", "split the file"},
		"samples in header":    {replace(header, `"samples":[]`, `"samples":[{}]`), "the header holds samples", ""},
		"another schema":       {v3, `line 1: its schema is "gorun/v3", but this gorun reads "gorun/v2"`, "v1.2.0"},
		"and another layout":   {replace(v3, `"seed":18446744073709551615`, `"seed":"x"`), `"gorun/v3"`, ""},
		"of gorun 0.1.0-dev":   {string(v1), `line 1: its schema is "gorun/v1"`, "version 0.1.0-dev; to compare it"},
		"no schema":            {resealed(`{"header":{}}`), `line 1: its schema is ""`, ""},
		"of no kind":           {header + resealed(`{"x":0}`), "line 2: a line must be exactly one of header, sample, footer and end, but this one has 0", ""},
		"nothing":              {header + "null\n", "line 2: it has no checksum", ""},
		"no checksum":          {header + sample + `{"sample":{"index":1}}` + "\n", "line 3: it has no checksum", ""},
		"of two kinds":         {header + replace(sample, `,"crc32"`, `,"footer":{},"crc32"`), "but this one has 2", ""},
		"two kinds at first":   {replace(header, `,"crc32"`, `,"sample":{},"crc32"`), "but this one has 2", ""},
		"broken before torn":   {header + sample[:40] + "\n" + "{", "line 2 is broken", ""},
		"an empty line":        {header + "\n" + sample, "line 2 is broken", ""},
		"another type":         {header + resealed(`{"sample":{"seconds":"1"}}`), "line 2: sample.seconds is a text instead of a number", ""},
		"out of range":         {header + resealed(`{"sample":{"seconds":1e999}}`), "line 2: sample.seconds is number 1e999", ""},
		"no whole number":      {header + resealed(`{"sample":{"index":0.5}}`), "line 2: sample.index is number 0.5 instead of", ""},
		"values are a list":    {header + resealed(`{"sample":{"values":[]}}`), "line 2: it is not the JSON of a journal", ""},
		"a second footer":      {header + none + none, "line 3: a second footer", ""},
		"a lone broken header": {strings.Replace(header, result.Schema, "gorun/v3", 1), "line 1 is broken: its checksum is", ""},
		"a sample is lost":     {header + sample + footer, "line 3: the footer counts 3 samples, but 1 come before it", "unchanged copy"},
		"a warning is lost": {
			header + none + sample + resealed(`{"footer":{"samples":1}}`), "line 4: the footer does not begin with the earlier warnings", "",
		},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.journal, c.want, c.way) })
	}
}

// A file in another form gives a hint how to get a journal from it.
func TestReadAnotherForm(t *testing.T) {
	journal := string(text(t, plain(t, 3)))
	for _, c := range []struct{ file, want, way string }{
		{"", "it is empty", "--out"},
		{"\x1f\x8b\x08\x00", "it is a binary file", "--out"}, // of gzip
		{"[" + strings.ReplaceAll(journal, "\n", ",\n") + "]", "it is a JSON list", "--out"},
		{"[]", "it is a JSON list", "--out"},
		{"{\n  \"schema\": \"gorun/v2\"\n}\n", "it is a JSON document", "gorun report"},
		{"{}\n", "it is a JSON document", "--out"},
		{"null\n", "it is a text of another kind", "--out"},
		{strings.Repeat("\x7fELF\x00\x01\x02\xfe", 100), "it is a binary file", "--out"},
		{"\xfe\xed\xfa\xce\n", "it is a binary file", "--out"},
		{"goos: linux\nBenchmarkX 1 2 ns/op\n", "it is a text of another kind", "--out"},
		{strings.ReplaceAll(journal, "\n", "\r\n"), "its lines end in CR LF", "as it was written"},
		{"\xef\xbb\xbf" + journal, "it begins with a byte order mark", "as it was written"},
	} {
		refused(t, c.file, c.want, c.way)
	}
}

// A single changed bit is found, and its line is named: by the error or, for the last line, by the
// number of complete lines before it.
func TestReadFlippedAnywhere(t *testing.T) {
	lines := plain(t, 1)
	journal := text(t, lines)
	require.Len(t, lines, 3)
	for bit := 0; bit < 8*len(journal); bit += 3 { // each bit of a byte in turn
		flipped := bytes.Clone(journal)
		flipped[bit/8] ^= 1 << (bit % 8)
		number := 1 + bytes.Count(journal[:bit/8], []byte("\n"))
		rec, err := read(bytes.NewReader(flipped), experiments.Known)
		if err != nil {
			require.ErrorContains(t, err, fmt.Sprintf("line %d", number), "bit %d", bit)
			continue
		}
		require.GreaterOrEqual(t, number, len(lines)-1, "bit %d", bit)
		require.True(t, rec.Torn, "bit %d", bit)
		require.Equal(t, number, rec.Lines+1, "bit %d", bit)
	}
}

// The checksum is the one that standard tools compute.
func TestChecksumByHand(t *testing.T) {
	tests.Tools(t, "gzip")
	path, journal := journalPath(t), text(t, plain(t, 2))
	require.NoError(t, os.WriteFile(path, journal, 0o644))
	for i, line := range strings.Split(strings.TrimSpace(string(journal)), "\n") {
		by := exec.Command("sh", "-c", fmt.Sprintf(`printf %%s "$(sed -n '%d{s/,"crc32":"[^"]*"}$/}/p}' "$0")" | gzip | `+
			`tail -c 8 | od -A n -t x4 -N 4 --endian=little`, i+1), path)
		sum, err := by.Output()
		require.NoError(t, err)
		assert.Contains(t, line, `,"crc32":"`+strings.TrimSpace(string(sum))+`"}`)
	}
}

// A last line may have a newline and still be broken: the disk stores pages, not lines.
func TestReadBrokenAtItsEnd(t *testing.T) {
	journal := text(t, plain(t, 3)[:3])
	for _, tail := range []string{
		"\n", "\x00\x00\x00\n", "\x00\x00", `{"sample":{"index":2` + "\n", `{"sample":{"index":2}}`,
		strings.Replace(resealed(`{"sample":{"index":2}}`), "2", "3", 1),
	} {
		rec := reads(t, append(bytes.Clone(journal), tail...))
		assert.True(t, rec.Torn, "%q", tail)
		assert.EqualValues(t, len(journal), rec.whole, "%q", tail)
		assert.Equal(t, 3, rec.Lines, "%q", tail)
		assert.Equal(t, 2, rec.Run.Samples.Len(), "%q", tail)
	}
}

// A line may be far longer than what is read at once.
func TestReadLongLines(t *testing.T) {
	lines := plain(t, 3)
	lines[1].Sample.WorkersDetail = make([]result.WorkerDetail, 50_000)
	journal := text(t, lines)
	require.Greater(t, len(journal), 4<<20)
	assert.Equal(t, samplesOf(lines), reads(t, journal).Run.Samples)
}

// A journal of a long run needs less memory than its text.
func TestReadIsFrugal(t *testing.T) {
	sample := &result.Sample{Seconds: 1, Placement: result.Placement{Verified: true}, Quality: result.Quality{Grade: result.Valid}}
	require.NoError(t, json.Unmarshal([]byte(`{"a": 1, "b": 2}`), &sample.Values))
	journal := text(t, plain(t, 0)[:1])
	for sample.Index = range 10_000 {
		journal = append(journal, text(t, []result.Line{{Sample: sample}})...)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	rec := reads(t, journal)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Equal(t, 10_000, rec.Run.Samples.Len())
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(len(journal))/2)
	runtime.KeepAlive(journal)
}

// No input makes the reader panic, and the samples that were read and written again are equal.
func FuzzRead(f *testing.F) {
	// Short ones: the fuzzer spends a minute on shortening each finding.
	const (
		header = `{"header":{"schema":"gorun/v2"}}` + "\n"
		sample = `{"sample":{"index":0,"placement":{"verified":true},"seconds":1,"quality":{"verdict":"valid"}}}` + "\n"
		matrix = `{"header":{"schema":"gorun/v2","cells":[{"name":"a"},{"name":"b"}],"matrix":{"order":{"design":"rows"}}}}` + "\n"
	)
	f.Add([]byte(header))
	f.Add([]byte(header + sample + `{"footer":{"samples":1}}` + "\n"))
	f.Add([]byte(header + `{"sample":{"cell":null,"values":{"a":[1e300,{}]}}}` + "\n"))
	f.Add([]byte(header + sample + sample[:9]))
	f.Add([]byte(header + `{"footer":{"samples":0,"partial":true}}` + "\n" + sample + "\n"))
	f.Add([]byte(matrix + strings.Replace(sample, `"index":0`, `"index":0,"cell":0,"elapsed_seconds":2`, 1)))
	f.Add([]byte("words\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := read(bytes.NewReader(data), experiments.Known)
		require.False(t, err == nil, "without a checksum nothing is read")
		var sums []byte // no fuzzer finds them
		for line := range bytes.Lines(data) {
			if json.Valid(line) && len(bytes.TrimSpace(line)) > 2 && bytes.HasSuffix(line, []byte("}\n")) {
				line = []byte(resealed(string(line)))
			}
			sums = append(sums, line...)
		}
		data = sums
		rec, err := read(bytes.NewReader(data), experiments.Known)
		if err != nil {
			require.Nil(t, rec)
			return
		}
		require.LessOrEqual(t, rec.whole, int64(len(data)))
		require.Equal(t, rec.Torn, rec.whole < int64(len(data)))
		again := data[:bytes.IndexByte(data, '\n')+1]
		for _, s := range rec.Run.Samples.All() {
			again = append(again, text(t, []result.Line{{Sample: s}})...)
		}
		twice := reads(t, again)
		want, err := json.Marshal(rec.Run.Samples)
		require.NoError(t, err)
		got, err := json.Marshal(twice.Run.Samples)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}
