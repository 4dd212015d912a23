package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/topology"
	"gorun/internal/publish/document"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
)

// fakeCell is what a part of a fake experiment does.
type fakeCell struct{ CPU int }

func (fakeCell) Resources() experiment.Resources { return experiment.Resources{Threads: 1} }

type fakeFigures struct {
	NS float64 `json:"ns" figure:"ns,lower" is:"A time."`
}

type fakeSampler func(ctx context.Context, c fakeCell) (result.Sample, error)

func (f fakeSampler) Sample(ctx context.Context, c fakeCell) (result.Sample, error) { return f(ctx, c) }
func (fakeSampler) Close() error                                                    { return nil }

// fake returns a measure of an experiment that samples in this way, and has the given CPUs as parts.
func fake(name string, cpus []int, sample fakeSampler) planned {
	x := experiment.Define(experiment.Definition[fakeCell]{
		Text: experiment.Text{Name: name}, Traits: experiment.Traits{Columns: column.Of[fakeFigures]()},
		Open: func(experiment.Environment, []fakeCell) (experiment.Sampler[fakeCell], error) {
			return sample, nil
		},
	})
	cell := func(m experiment.Machine, _ part) (work, error) { return fakeCell{m.CPUs.First()}, nil }
	p := planned{batteryRow: &batteryRow{name: name, unit: column.Nanoseconds, experiment: x, column: "ns", cell: cell}, name: name}
	for _, cpu := range cpus {
		p.parts = append(p.parts, part{words: "CPU " + string(rune('0'+cpu)), cpus: cpuset.Of(cpu)})
	}
	return p
}

// found is a sample with a figure, whose placement is as requested.
func found(ns float64) (s result.Sample) {
	s.Placement.Add(1, nil)
	s.Values = result.FiguresOf(&fakeFigures{NS: ns})
	return s
}

// visitor returns a visitor of this machine with these measures.
func visitor(t *testing.T, dir string, measures ...planned) *Visitor {
	t.Helper()
	m, err := topology.Read(os.DirFS("/"))
	require.NoError(t, err)
	return &Visitor{
		Root: sysfs.This(), Machine: m, Host: result.Host{BootID: "boot"}, Dir: dir, Node: "n1", Budget: tests.Hang,
		Now: func() time.Time { return time.Date(2026, 11, 27, 6, 12, 5, 123456789, time.UTC) }, measures: append([]planned{}, measures...),
	}
}

// read returns the lines of a file.
func read(t *testing.T, path string) (lines []Line) {
	t.Helper()
	text := tests.Read(t, path)
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		var line Line
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &line))
		lines = append(lines, line)
	}
	return lines
}

// The figure is the best of the worst part; a part whose samples are invalid has none, and a wrong result is named.
func TestVisit(t *testing.T) {
	cpus := tests.CPUs(t, 1)
	here, taken := cpus[0], 0
	slow := fake("slow", []int{here, here, here}, func(context.Context, fakeCell) (result.Sample, error) {
		taken++
		s := found(float64(taken%3)*100 + float64(taken))
		if taken%3 == 0 {
			s.Wrong("CPU 9 computed a wrong value")
		}
		return s, nil
	})
	slow.parts[1].words = "the second"
	broken := fake("broken", []int{here}, func(context.Context, fakeCell) (result.Sample, error) {
		return result.Sample{}, errors.New("no memory")
	})
	absent := fake("absent", nil, nil)
	absent.lack = "there is no other node"
	v := visitor(t, t.TempDir(), slow, broken, absent)
	visited, err := v.Visit(t.Context())
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(v.Dir, "n1", "boot", "20261127T061205.123456789Z.jsonl"), visited.Path)
	assert.NoFileExists(t, visited.Path+partial)
	lines := read(t, visited.Path)
	require.Len(t, lines, 5)
	assert.Equal(t, Schema, lines[0].Visit.Schema)
	assert.Equal(t, "2026-11-27T06:12:05.123456789Z", lines[0].Visit.Started)
	assert.NotNil(t, lines[4].End)
	by := map[string]Line{}
	for _, line := range lines[1:4] {
		if line.Measure != nil {
			by[line.Measure.Name] = line
		} else {
			by[line.Missing.Name] = line
		}
	}
	m := by["slow"].Measure
	require.NotNil(t, m)
	assert.Equal(t, 202.0, m.Figure, "of the second sample: 200 + 2")
	assert.Equal(t, []float64{202, 205, 208, 211, 214}, m.Samples)
	assert.Equal(t, "the second", m.Part)
	assert.Equal(t, 2, m.Parts)
	assert.Equal(t, []string{"CPU 9 computed a wrong value"}, m.Wrong)
	for _, doubt := range m.Doubts {
		assert.Regexp(t, "^(CPU|the second)", doubt, "it begins with the part")
	}
	assert.Equal(t, &Missing{Name: "broken", Reason: "no memory"}, by["broken"].Missing)
	assert.Equal(t, &Missing{Name: "absent", Reason: "there is no other node"}, by["absent"].Missing)
	assert.EqualError(t, visited.Err(), "CPU 9 computed a wrong value")
	assert.NotEmpty(t, hint.Of(visited.Err()))
	var out strings.Builder
	require.NoError(t, document.Show(&out, visited, "table", term.Options{}))
	assert.True(t, strings.HasPrefix(out.String(), "Wrong results: CPU 9 computed a wrong value.\n"), out.String())
	assert.Contains(t, out.String(), visited.Path+"\n")
	assert.Regexp(t, `(?m)^  slow +slow +202 ns +the second +2$`, out.String())
	assert.Regexp(t, `(?m)^  broken +no memory$`, out.String())
}

// A measure without any valid sample keeps the wrong results.
func TestVisitOnlyWrong(t *testing.T) {
	here := tests.CPUs(t, 1)[0]
	v := visitor(t, t.TempDir(), fake("sum", []int{here}, func(context.Context, fakeCell) (result.Sample, error) {
		s := found(1)
		s.Wrong("CPU 9 computed a wrong sum")
		return s, nil
	}))
	visited, err := v.Visit(t.Context())
	require.NoError(t, err)
	wrong := []string{"CPU 9 computed a wrong sum"}
	assert.Equal(t, []Line{{Missing: &Missing{Name: "sum", Reason: wrong[0], Wrong: wrong}}}, visited.Lines)
	assert.EqualError(t, visited.Err(), wrong[0])
}

// A measure that the budget cuts, or would cut, has no figure, and neither have those after it.
func TestBudget(t *testing.T) {
	here := tests.CPUs(t, 1)[0]
	endless := func(name string) planned {
		return fake(name, []int{here}, func(ctx context.Context, _ fakeCell) (result.Sample, error) {
			<-ctx.Done()
			return found(1), nil
		})
	}
	v := visitor(t, t.TempDir(), endless("a"), endless("b"))
	v.Budget = 20 * time.Millisecond
	visited, err := v.Visit(t.Context())
	require.NoError(t, err)
	for _, line := range visited.Lines {
		require.NotNil(t, line.Missing)
		assert.Equal(t, "the budget ended", line.Missing.Reason)
	}
	assert.Len(t, visited.Lines, 2)
	assert.EqualError(t, visited.Err(), "nothing was measured")

	took := time.Duration(0)
	long := visitor(t, t.TempDir(), fake("long", []int{here}, func(context.Context, fakeCell) (result.Sample, error) {
		took++
		time.Sleep(300 * time.Millisecond) // a third of the budget: four more do not fit
		return found(1), nil
	}))
	long.Budget = 900 * time.Millisecond
	visited, err = long.Visit(t.Context())
	require.NoError(t, err)
	assert.Regexp(t, `^it needs .* more, and .* of the budget are left$|^the budget ended$`, visited.Lines[0].Missing.Reason)
	assert.LessOrEqual(t, took, time.Duration(1))
}

// An interrupt ends a visit, whose file keeps its name and its whole lines.
func TestInterrupt(t *testing.T) {
	here := tests.CPUs(t, 1)[0]
	ctx, cancel := context.WithCancel(t.Context())
	v := visitor(t, t.TempDir(), fake("a", []int{here}, func(ctx context.Context, _ fakeCell) (result.Sample, error) {
		cancel()
		<-ctx.Done()
		return result.Sample{}, ctx.Err()
	}))
	visited, err := v.Visit(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, strings.HasSuffix(visited.Path, partial))
	lines := read(t, visited.Path)
	require.Len(t, lines, 1)
	assert.NotNil(t, lines[0].Visit)
}

// Visits that begin at the same moment have a file each, also if one has ended before the other begins.
func TestVisitsAtTheSameMoment(t *testing.T) {
	dir := t.TempDir()
	inner := ""
	here := tests.CPUs(t, 1)[0]
	v := visitor(t, dir, fake("a", []int{here}, func(context.Context, fakeCell) (result.Sample, error) {
		if inner == "" {
			visited, err := visitor(t, dir).Visit(t.Context())
			require.NoError(t, err)
			inner = visited.Path
		}
		return found(1), nil
	}))
	outer, err := v.Visit(t.Context())
	require.NoError(t, err)
	after, err := visitor(t, dir).Visit(t.Context())
	require.NoError(t, err)
	assert.Len(t, read(t, inner), 2)
	assert.Len(t, read(t, outer.Path), 3)
	assert.Len(t, read(t, after.Path), 2)
	files, err := os.ReadDir(filepath.Dir(inner))
	require.NoError(t, err)
	assert.Len(t, files, 3)
}

func TestCheckNode(t *testing.T) {
	for _, name := range []string{
		"", ".", "..", ".n1", "a/b", "/", "a\x00b", "ü", "ALL", "all", "All", "-x", "--selector=a", "n[1-9]", "n1,n2", "bad,n1", "a b", "a@b", "a\nb", "a\n",
		"a;b", "$(a)", "<a>", "a=b", strings.Repeat("a", 256),
	} {
		err := CheckNode(name)
		assert.True(t, hint.IsUsage(err), "%q", name)
		assert.ErrorContains(t, err, "--node")
	}
	for _, name := range []string{"n1", "node-17.cluster.example", "ALLY", "n_1", "fe80::1%eth0", "1"} {
		assert.NoError(t, CheckNode(name))
	}
}

// A directory that cannot be made is an error before anything is measured.
func TestUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := visitor(t, file).Visit(t.Context())
	require.True(t, hint.IsUsage(err))
	assert.EqualError(t, err, "--out: cannot make "+file+"/n1/boot: not a directory")
	assert.NotEmpty(t, hint.Of(err))
}

// A visit is not written through a link below the directory, whoever made the link.
func TestLinkedFolder(t *testing.T) {
	for _, at := range []string{"n1", "n1/boot"} {
		dir, outside := t.TempDir(), t.TempDir()
		link := filepath.Join(dir, at)
		require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o777))
		for _, to := range []string{outside, dir, "nowhere"} {
			require.NoError(t, os.Symlink(to, link))
			_, err := visitor(t, dir).Visit(t.Context())
			require.True(t, hint.IsUsage(err))
			assert.EqualError(t, err, "--out: cannot make "+link+": it is no folder, or a link to one, which is not followed")
			require.NoError(t, os.Remove(link))
		}
		left, err := os.ReadDir(outside)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

// A folder that is replaced by a link while the visit lasts leads to nothing outside either.
func TestReplacedFolder(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	f, err := createFile(dir, "n1", "boot", begin)
	require.NoError(t, err)
	require.NoError(t, os.Rename(filepath.Join(dir, "n1"), filepath.Join(dir, "n2")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "n1")))
	require.NoError(t, f.write(Line{End: &End{}}))
	require.NoError(t, f.finish())
	assert.FileExists(t, filepath.Join(dir, "n2", "boot", filepath.Base(f.path)))
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A disk that is full is an error that names the file.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs /dev/full")
	}
	f := &visitFile{file: full, path: "x.jsonl"}
	err = f.write(Line{End: &End{}})
	assert.EqualError(t, err, "--out: cannot write x.jsonl.part: no space left on device")
	assert.NotEmpty(t, hint.Of(err))
}
