package result

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/hint"
	"gorun/internal/tests"
)

// sampleOf returns a sample of a matrix.
func sampleOf(index int) Sample {
	other, faults := -0.004, uint64(17)
	return Sample{
		Index: index, Slot: &Slot{Cell: index % 3, Control: index == 1, Round: index / 3, Elapsed: float64(index) * 0.5},
		Seconds: 1.5 + float64(index)/1000, UserSeconds: 2.5, SystemSeconds: 0.25,
		Values: asRead(`{"kernel": "avx2", "primes": 17984}`),
		Answer: &Answer{Of: "primes up to 200000", Is: "17984"},
		CPUs:   []CPU{{CPU: 1, Workers: 3, BusySeconds: 1.25}},
		Placement: Placement{
			Requested: "pin-cpus 0-3 <>&", Verified: true, Checked: 4,
		},
		Quality: Quality{
			Verdict: Valid, Reasons: []string{},
			Signals: Signals{WatchedSeconds: 1.6, OtherSeconds: &other, MinorFaults: &faults},
		},
	}
}

// recorded returns the lines of a run with this number of samples that was stopped after two of them, resumed and
// completed.
func recorded(samples int) []Line {
	header := known()
	header.Schema, header.Experiment = Schema, "primes"
	header.Seed, header.Started = math.MaxUint64, "2026-01-02T03:04:05Z"
	header.Spec = map[string]any{"limit": float64(200000), "method": "brute", "pin-cpus": []any{"0", "1"}}
	header.Matrix = &Matrix{Baseline: 1, Alpha: 0.05, Order: Order{Method: "blocks", First: [][]int{{1, 0}}}}
	header.Cells = []Cell{{
		Name: "a", Flags: map[string]string{"workers": "2"}, CPUs: map[string]CPUs{"cpus": {List: "0-1", Count: 2}},
		Command: []string{"primes", "--workers", "2"},
	}}
	header.Samples, header.Findings, header.Warnings = []Sample{}, []Finding{}, []Warning{}
	lines := []Line{{Header: header}}
	footer := func(samples int, partial bool) Line {
		return Line{Footer: &Footer{
			Samples: samples, Summary: &Summary{Samples: samples, Spread: 0.125},
			Findings: []Finding{{Code: "steal", Message: fmt.Sprintf("after %d", samples), Value: 0.5}},
			Warnings: []Warning{{Code: "budget", Message: "it was short", Hint: "give more"}}, Partial: partial,
		}}
	}
	for i := range samples {
		if i == 2 {
			lines = append(lines, footer(2, true))
		}
		sample := sampleOf(i)
		lines = append(lines, Line{Sample: &sample})
	}
	return append(lines, footer(samples, false))
}

// text returns the lines as in a journal.
func text(t testing.TB, lines []Line) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, line := range lines {
		data, err := json.Marshal(line)
		require.NoError(t, err)
		out.Write(append(data, '\n'))
	}
	return out.Bytes()
}

// summed returns a line with its end and its checksum, in place of the one that it may have.
func summed(line string) string {
	line = strings.TrimSuffix(line, "\n")
	line = checksum().ReplaceAllString(line, "}")
	return fmt.Sprintf("%s,\"crc32\":\"%08x\"}\n", line[:len(line)-1], crc32.ChecksumIEEE([]byte(line)))
}

func read(t *testing.T, journal []byte) Recording {
	t.Helper()
	rec, err := ReadJournal(bytes.NewReader(journal))
	require.NoError(t, err)
	return rec
}

func samplesOf(lines []Line) []Sample {
	samples := []Sample{}
	for _, line := range lines {
		if line.Sample != nil {
			samples = append(samples, *line.Sample)
		}
	}
	return samples
}

// Reading returns what was written, with the results of the last footer.
func TestReadJournal(t *testing.T) {
	lines := recorded(5)
	journal := text(t, lines)
	rec := read(t, journal)

	want := *lines[0].Header
	want.Samples = samplesOf(lines)
	last := lines[len(lines)-1].Footer
	want.Summary, want.Findings, want.Warnings = last.Summary, last.Findings, last.Warnings
	footers := []*Footer{lines[3].Footer, last}
	assert.Equal(t, Recording{
		Run: &want, Footers: footers, Ended: true, Whole: int64(len(journal)), Lines: len(lines),
	}, rec)
	require.Len(t, rec.Run.Samples, 5)
	assert.False(t, rec.Run.Partial)
	assert.Equal(t, &Slot{Cell: 1, Control: true, Elapsed: 0.5}, rec.Run.Samples[1].Slot)
}

// Renderers and JSON need a list.
func TestReadJournalWithoutSamples(t *testing.T) {
	rec := read(t, []byte(summed(`{"header":{"schema":"gorun/v2"}}`)))
	assert.Equal(t, []Sample{}, rec.Run.Samples)
	assert.Nil(t, rec.Footer())
}

// A journal cut at any place has exactly the samples on complete lines, and what the last complete footer says. It is the
// one of a run that is partial, unless that footer is the run's end.
func TestReadJournalCutAnywhere(t *testing.T) {
	lines := recorded(4)
	journal := text(t, lines)
	headerEnd := bytes.IndexByte(journal, '\n') + 1
	for cut := range len(journal) + 1 {
		whole := bytes.Count(journal[:cut], []byte("\n"))
		rec, err := ReadJournal(bytes.NewReader(journal[:cut]))
		if cut < headerEnd {
			require.ErrorContains(t, err, map[bool]string{true: "is empty", false: "no complete line"}[cut == 0], "cut at %d", cut)
			require.Contains(t, hint.Of(err), "--out")
			continue
		}
		require.NoError(t, err, "cut at %d", cut)
		end := bytes.LastIndexByte(journal[:cut], '\n') + 1
		require.Equal(t, samplesOf(lines[:whole]), rec.Run.Samples, "cut at %d", cut)
		var footer *Footer
		findings := []Finding{}
		for _, line := range lines[:whole] {
			if line.Footer != nil {
				footer, findings = line.Footer, line.Footer.Findings
			}
		}
		require.Equal(t, footer, rec.Footer(), "cut at %d", cut)
		require.Equal(t, findings, rec.Run.Findings, "cut at %d", cut)
		require.EqualValues(t, end, rec.Whole, "cut at %d", cut)
		require.Equal(t, cut != end, rec.Torn, "cut at %d", cut)
		require.Equal(t, cut == end && lines[whole-1].Footer != nil, rec.Ended, "cut at %d", cut)
		require.Equal(t, whole < len(lines), rec.Run.Partial, "cut at %d", cut)
	}
}

func TestReadJournalErrors(t *testing.T) {
	lines := recorded(3)
	good := strings.SplitAfter(string(text(t, lines)), "\n")
	header, sample, footer := good[0], good[1], good[len(good)-2]
	replace := func(line, old, new string) string {
		require.Contains(t, line, old)
		return summed(strings.Replace(line, old, new, 1))
	}
	none := replace(footer, `"samples":3`, `"samples":0`)
	v3 := replace(header, Schema, "gorun/v3")
	for name, c := range map[string]struct{ journal, want string }{
		"no header":            {sample, "line 1: it comes before the header"},
		"footer first":         {footer, "line 1: it comes before the header"},
		"second header":        {header + sample + header, "line 3: a second header"},
		"samples in header":    {replace(header, `"samples":[]`, `"samples":[{}]`), "the header holds samples"},
		"another schema":       {v3, `line 1: its schema is "gorun/v3", but this gorun reads "gorun/v2"`},
		"and another layout":   {replace(v3, `"seed":18446744073709551615`, `"seed":"x"`), `"gorun/v3"`},
		"no schema":            {summed(`{"header":{}}`), `line 1: its schema is ""`},
		"of no kind":           {header + summed(`{"x":0}`), "line 2: a line must be exactly one of header, sample and footer, but this one has 0"},
		"nothing":              {header + "null\n", "line 2: it has no checksum"},
		"no checksum":          {header + sample + `{"sample":{"index":1}}` + "\n", "line 3: it has no checksum"},
		"of two kinds":         {header + replace(sample, `,"crc32"`, `,"footer":{},"crc32"`), "but this one has 2"},
		"two kinds at first":   {replace(header, `,"crc32"`, `,"sample":{},"crc32"`), "but this one has 2"},
		"broken before torn":   {header + sample[:40] + "\n" + "{", "line 2 is broken"},
		"an empty line":        {header + "\n" + sample, "line 2 is broken"},
		"another type":         {header + summed(`{"sample":{"seconds":"1"}}`), "line 2: sample.seconds is a text instead of a number"},
		"out of range":         {header + summed(`{"sample":{"seconds":1e999}}`), "line 2: sample.seconds is number 1e999"},
		"no whole number":      {header + summed(`{"sample":{"index":0.5}}`), "line 2: sample.index is number 0.5 instead of"},
		"values are a list":    {header + summed(`{"sample":{"values":[]}}`), "line 2: it is not the JSON of a journal"},
		"a second footer":      {header + none + none, "line 3: a second footer"},
		"a lone broken header": {strings.Replace(header, Schema, "gorun/v3", 1), "line 1 is broken: its checksum is"},
		"a sample is lost":     {header + sample + footer, "line 3: the footer counts 3 samples, but 1 come before it"},
		"a warning is lost": {
			header + none + sample + summed(`{"footer":{"samples":1}}`), "line 4: the footer does not begin with the earlier warnings",
		},
	} {
		_, err := ReadJournal(strings.NewReader(c.journal))
		require.ErrorContains(t, err, c.want, name)
		assert.NotContains(t, err.Error(), "\n", name)
		assert.NotRegexp(t, goInternals, err.Error(), name)
		if !strings.Contains(name, "broken") && !strings.HasPrefix(name, "an empty") {
			assert.NotEmpty(t, hint.Of(err), name)
		}
	}
	_, err := ReadJournal(strings.NewReader(v3))
	assert.Contains(t, hint.Of(err), "v1.2.0", "which gorun reads it")
}

// goInternals are words of package json that mean nothing to a user.
const goInternals = `unmarshal|Go value|Go struct|invalid character|json:`

// A file in another form gives a one-line error, with a hint how to get a journal from it.
func TestReadJournalOfAnotherForm(t *testing.T) {
	journal := string(text(t, recorded(3)))
	var zipped bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	_, err := gz.Write([]byte(journal))
	require.NoError(t, err)
	require.NoError(t, gz.Close())
	document, err := json.MarshalIndent(known(), "", "  ")
	require.NoError(t, err)
	for _, c := range []struct{ file, want, way string }{
		{"", "it is empty", "--out"},
		{zipped.String(), "it is compressed by gzip", "gzip -dc"},
		{"\x28\xb5\x2f\xfd\x24", "it is compressed by zstd", "zstd -dc"},
		{"[" + strings.ReplaceAll(journal, "\n", ",\n") + "]", "it is a JSON list", "--out"},
		{"[]", "it is a JSON list", "--out"},
		{string(document), "it is a JSON document", "gorun report"},
		{"{}\n", "it is a JSON document", "--out"},
		{"null\n", "it is a text of another kind", "--out"},
		{strings.Repeat("\x7fELF\x00\x01\x02\xfe", 100), "it is a binary file", "--out"},
		{"\xfe\xed\xfa\xce\n", "it is a binary file", "--out"},
		{"goos: linux\nBenchmarkX 1 2 ns/op\n", "it is a text of another kind", "--out"},
		{strings.ReplaceAll(journal, "\n", "\r\n"), "its lines end in CR LF", "as it was written"},
		{"\xef\xbb\xbf" + journal, "it begins with a byte order mark", "as it was written"},
	} {
		_, err := ReadJournal(strings.NewReader(c.file))
		require.ErrorContains(t, err, c.want)
		assert.NotContains(t, err.Error(), "\n")
		assert.NotRegexp(t, goInternals, err.Error())
		assert.Contains(t, hint.Of(err), c.way, c.want)
	}
}

// A journal of the previous schema, written by gorun 0.1.0-dev, gives an error with a hint.
func TestReadJournalOfV1(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "v1.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	_, err = ReadJournal(file)
	require.EqualError(t, err, `line 1: its schema is "gorun/v1", but this gorun reads "gorun/v2"`)
	assert.Equal(t, "read it with the gorun that wrote it, version 0.1.0-dev; "+
		"to compare it with runs of this gorun, measure it again", hint.Of(err))
}

// A single changed bit is found, and its line is named: by the error or, for the last line, by the
// number of complete lines before it.
func TestReadJournalFlippedAnywhere(t *testing.T) {
	lines := recorded(1)
	journal := text(t, lines)
	require.Len(t, lines, 3)
	for bit := 0; bit < 8*len(journal); bit += 3 { // each bit of a byte in turn
		flipped := bytes.Clone(journal)
		flipped[bit/8] ^= 1 << (bit % 8)
		number := 1 + bytes.Count(journal[:bit/8], []byte("\n"))
		rec, err := ReadJournal(bytes.NewReader(flipped))
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
	path, lines := journalPath(t), recorded(2)
	require.NoError(t, os.WriteFile(path, text(t, lines), 0o644))
	for i, line := range bytes.SplitAfter(text(t, lines), []byte("\n"))[:len(lines)] {
		by := exec.Command("sh", "-c", fmt.Sprintf(`printf %%s "$(sed -n '%d{s/,"crc32":"[^"]*"}$/}/p}' %s)" | gzip | `+
			`tail -c 8 | od -A n -t x4 -N 4 --endian=little`, i+1, path))
		sum, err := by.Output()
		require.NoError(t, err)
		assert.Contains(t, string(line), `,"crc32":"`+strings.TrimSpace(string(sum))+`"}`)
	}
}

// A last line may have a newline and still be broken: the disk stores pages, not lines.
func TestReadJournalBrokenAtItsEnd(t *testing.T) {
	journal := text(t, recorded(3)[:3])
	for _, tail := range []string{
		"\n", "\x00\x00\x00\n", "\x00\x00", `{"sample":{"index":2` + "\n", `{"sample":{"index":2}}`,
		strings.Replace(summed(`{"sample":{"index":2}}`), "2", "3", 1),
	} {
		rec := read(t, append(bytes.Clone(journal), tail...))
		assert.True(t, rec.Torn, "%q", tail)
		assert.EqualValues(t, len(journal), rec.Whole, "%q", tail)
		assert.Equal(t, 3, rec.Lines, "%q", tail)
		assert.Len(t, rec.Run.Samples, 2, "%q", tail)
	}
}

// A line may be far longer than what is read at once.
func TestReadJournalOfLongLines(t *testing.T) {
	lines := recorded(3)
	lines[1].Sample.WorkersDetail = make([]WorkerDetail, 50_000)
	journal := text(t, lines)
	require.Greater(t, len(journal), 4<<20)
	assert.Equal(t, samplesOf(lines), read(t, journal).Run.Samples)
}

// A journal of a long matrix is read at once: about as much memory as its text, and no more.
func TestReadJournalIsFrugal(t *testing.T) {
	sample := text(t, []Line{{Sample: &Sample{Slot: &Slot{}, Values: asRead(`{"a": 1, "b": 2}`)}}})
	journal := append(text(t, recorded(0)[:1]), bytes.Repeat(sample, 10_000)...)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	rec := read(t, journal)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Len(t, rec.Run.Samples, 10_000)
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(30<<20))
	runtime.KeepAlive(journal)
}

func BenchmarkReadJournal(b *testing.B) {
	sample, figures := sampleOf(0), `{"primes":17984`
	for i := range 8 {
		sample.CPUs = append(sample.CPUs, CPU{CPU: i, Workers: 3, BusySeconds: 1.0 / 3})
		figures += fmt.Sprintf(`,"figure_%d_seconds":%v`, i, 1.0/3)
	}
	sample.Values = asRead(figures + "}")
	line := text(b, []Line{{Sample: &sample}})
	journal := append(text(b, recorded(0)[:1]), bytes.Repeat(line, 10_000)...)
	b.SetBytes(int64(len(journal)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadJournal(bytes.NewReader(journal)); err != nil {
			b.Fatal(err)
		}
	}
}

// linesOf are the lines that a recording was read from, without a torn one.
func linesOf(rec Recording) []Line {
	header := *rec.Run
	header.Samples = []Sample{}
	lines := []Line{{Header: &header}}
	for i := range len(rec.Run.Samples) + 1 {
		for _, footer := range rec.Footers {
			if footer.Samples == i {
				lines = append(lines, Line{Footer: footer})
			}
		}
		if i < len(rec.Run.Samples) {
			lines = append(lines, Line{Sample: &rec.Run.Samples[i]})
		}
	}
	return lines
}

// No input makes the reader panic, and a journal that was read and written again is equal.
func FuzzReadJournal(f *testing.F) {
	// Short ones: the fuzzer spends a minute on shortening each finding.
	const header, sample = `{"header":{"schema":"gorun/v2"}}` + "\n", `{"sample":{"index":0}}` + "\n"
	f.Add([]byte(header))
	f.Add([]byte(header + sample + `{"footer":{"samples":1}}` + "\n"))
	f.Add([]byte(header + `{"sample":{"cell":null,"values":{"a":[1e300,{}]}}}` + "\n"))
	f.Add([]byte(header + sample + sample[:9]))
	f.Add([]byte(header + `{"footer":{"samples":0,"partial":true}}` + "\n" + sample + "\n"))
	f.Add([]byte("words\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := ReadJournal(bytes.NewReader(data))
		require.False(t, err == nil, "without a checksum nothing is read")
		var sums []byte // no fuzzer finds them
		for line := range bytes.Lines(data) {
			if json.Valid(line) && len(bytes.TrimSpace(line)) > 2 && bytes.HasSuffix(line, []byte("}\n")) {
				line = []byte(summed(string(line)))
			}
			sums = append(sums, line...)
		}
		data = sums
		rec, err := ReadJournal(bytes.NewReader(data))
		if err != nil {
			require.Nil(t, rec.Run)
			return
		}
		require.LessOrEqual(t, rec.Whole, int64(len(data)))
		require.Equal(t, rec.Torn, rec.Whole < int64(len(data)))
		again := text(t, linesOf(rec))
		if rec.Torn {
			again = append(again, '{')
		}
		twice := read(t, again)
		require.Equal(t, string(text(t, linesOf(rec))), string(text(t, linesOf(twice))))
		require.Equal(t, rec.Ended, twice.Ended)
	})
}

func journalPath(t *testing.T) string { return filepath.Join(t.TempDir(), "run.jsonl") }

// create makes the journal of a file.
func create(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return CreateJournal(file)
}

func write(t *testing.T, j *Journal, lines []Line) {
	t.Helper()
	for _, line := range lines {
		require.NoError(t, j.Write(line))
	}
}

func TestJournalKeepsLines(t *testing.T) {
	path, lines := journalPath(t), recorded(3)
	j, err := create(path)
	require.NoError(t, err)
	write(t, j, lines)
	require.NoError(t, j.Close())
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(text(t, lines)), string(kept))

	_, err = create(path)
	require.ErrorIs(t, err, ErrExists)
	assert.EqualError(t, err, path+" holds an earlier run")
}

// Samples that follow quickly share an fsync, which comes by itself; the end of a run does not wait for it.
func TestJournalSyncs(t *testing.T) {
	j, err := create(journalPath(t))
	require.NoError(t, err)
	pending := func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.later != nil
	}
	lines := recorded(1)
	write(t, j, lines[:1])
	assert.False(t, pending())
	tests.Await(t, "sample that follows quickly", func() bool {
		write(t, j, lines[1:2])
		return pending()
	})
	tests.Await(t, "fsync", func() bool { return !pending() })
	tests.Await(t, "sample that follows quickly", func() bool {
		write(t, j, lines[1:2])
		return pending()
	})
	require.NoError(t, j.Write(Line{Footer: &Footer{}}))
	assert.False(t, pending())
	require.NoError(t, j.Close())
}

// A run that was killed in the middle of a line resumes after the last complete one.
func TestOpenJournalGoesOn(t *testing.T) {
	path, lines := journalPath(t), recorded(4)
	torn := append(text(t, lines[:3]), `{"sample":{"index":2,"sec`...)
	require.NoError(t, os.WriteFile(path, torn, 0o644))

	j, rec, err := OpenJournal(path)
	require.NoError(t, err)
	assert.Equal(t, samplesOf(lines[:3]), rec.Run.Samples)
	assert.True(t, rec.Torn)
	require.NoError(t, j.Close())
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(torn), string(kept), "who only looks at a run changes nothing")

	j, _, err = OpenJournal(path)
	require.NoError(t, err)
	write(t, j, lines[3:])
	require.NoError(t, j.Close())
	kept, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(text(t, lines)), string(kept))

	j, rec, err = OpenJournal(path)
	require.NoError(t, err)
	assert.True(t, rec.Ended)
	write(t, j, lines[len(lines)-1:])
	require.NoError(t, j.Close())
	kept, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(text(t, append(lines, lines[len(lines)-1]))), string(kept))
}

func TestOpenJournalErrors(t *testing.T) {
	dir := t.TempDir()
	_, _, err := OpenJournal(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, _, err = OpenJournal(dir)
	require.Error(t, err)
	_, _, err = OpenJournal(os.DevNull)
	require.EqualError(t, err, os.DevNull+" is not a regular file")

	path := filepath.Join(dir, "words")
	require.NoError(t, os.WriteFile(path, []byte("words"), 0o644))
	_, _, err = OpenJournal(path)
	require.ErrorContains(t, err, path+": line 1 does not begin a journal")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "words", string(kept))
}

// Two processes never write to one journal. Reading takes no lock.
func TestJournalIsLocked(t *testing.T) {
	path := journalPath(t)
	j, err := create(path)
	require.NoError(t, err)
	refused := func() {
		t.Helper()
		_, _, err := OpenJournal(path)
		require.ErrorIs(t, err, ErrBusy)
		require.EqualError(t, err, "another gorun is writing to "+path)
		require.NotEmpty(t, hint.Of(err))
		_, err = create(path)
		require.ErrorIs(t, err, ErrBusy)
	}
	refused()
	write(t, j, recorded(3))
	refused()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	_, err = ReadJournal(file)
	require.NoError(t, err)
	require.NoError(t, j.Close())

	j, _, err = OpenJournal(path)
	require.NoError(t, err)
	refused()
	require.NoError(t, j.Close())
}

// A file that holds no data, such as /dev/null, can be the journal of several runs at the same time.
func TestJournalLocksFilesAlone(t *testing.T) {
	a, err := create(os.DevNull)
	require.NoError(t, err)
	b, err := create(os.DevNull)
	require.NoError(t, err)
	write(t, a, recorded(1))
	write(t, b, recorded(1))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestJournalOfAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full")
	}
	j, err := create("/dev/full")
	require.NoError(t, err)
	require.ErrorIs(t, j.Write(recorded(0)[0]), syscall.ENOSPC)
	require.ErrorIs(t, j.Write(recorded(0)[0]), syscall.ENOSPC)
	require.NoError(t, j.Close())
}

// After a failed write the journal takes no more lines, even if the disk has room again: they would follow an
// incomplete line.
func TestJournalEndsWithAFailure(t *testing.T) {
	path, lines := journalPath(t), recorded(3)
	require.NoError(t, os.WriteFile(path, text(t, lines[:2]), 0o644))
	j, _, err := OpenJournal(path)
	require.NoError(t, err)
	writable := j.file
	readOnly, err := os.Open(path)
	require.NoError(t, err)
	defer readOnly.Close()
	j.file = readOnly
	require.ErrorIs(t, j.Write(lines[2]), syscall.EBADF)
	j.file = writable
	require.ErrorIs(t, j.Write(lines[3]), syscall.EBADF)
	require.NoError(t, j.Close())
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(text(t, lines[:2])), string(kept))
}

// A figure that JSON cannot represent is an error of the experiment: the line is not written, and the journal stays
// complete.
func TestJournalOfWhatIsNoJSON(t *testing.T) {
	path, lines := journalPath(t), recorded(3)
	j, err := create(path)
	require.NoError(t, err)
	require.Error(t, j.Write(Line{Sample: &Sample{Seconds: math.NaN()}}))
	write(t, j, lines)
	require.NoError(t, j.Close())
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(text(t, lines)), string(kept))
}

// A journal that was removed or replaced while it was open is noticed.
func TestJournalIsLost(t *testing.T) {
	path := journalPath(t)
	j, err := create(path)
	require.NoError(t, err)
	write(t, j, recorded(1))
	require.NoError(t, j.Lost())
	require.NoError(t, os.Remove(path))
	err = j.Lost()
	require.EqualError(t, err, path+" was removed or replaced during the run, and its samples with it")
	require.NotEmpty(t, hint.Of(err))
	require.NoError(t, os.WriteFile(path, text(t, recorded(1)), 0o644))
	require.Error(t, j.Lost(), "another file")
	require.NoError(t, j.Close())

	device, err := create(os.DevNull)
	require.NoError(t, err)
	require.NoError(t, device.Lost())
	require.False(t, device.Regular())
	require.NoError(t, device.Close())
}

// Without --out the journal is nil, and can be used like any other.
func TestNoJournal(t *testing.T) {
	var j *Journal
	require.NoError(t, j.Write(Line{}))
	require.NoError(t, j.Lost())
	require.False(t, j.Regular())
	require.NoError(t, j.Close())
}
