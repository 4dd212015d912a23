package journal

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/files/input"
	"gorun/internal/record/result"
)

// followed is a journal that is followed, with how often it was read from its beginning.
type followed struct {
	*Follower
	path string
	anew int
}

func follow(t *testing.T, begin []byte) *followed {
	t.Helper()
	path := journalPath(t)
	f := &followed{Follower: NewFollower(input.Opener{}, path, experiments.Known), path: path}
	require.NoError(t, os.WriteFile(f.path, begin, 0o644))
	f.same(t, 1)
	return f
}

// same checks that the follower finds what a new reader finds, and how often it has read the file from its beginning.
func (f *followed) same(t *testing.T, anew int) {
	t.Helper()
	before := f.reader
	got, run, err := f.Read(t.Context())
	if f.reader != nil && f.reader != before {
		f.anew++
	}
	want, _, wrong := ReadRun(t.Context(), input.Opener{}, f.path, experiments.Known)
	assert.Equal(t, anew, f.anew, "readings from the beginning")
	assert.Nil(t, run)
	assert.Equal(t, wrong, err)
	if wrong != nil || err != nil {
		return
	}
	assert.Equal(t, shownAs(t, want.Run), shownAs(t, got.Run))
	for _, rec := range []*Recording{want, got} {
		rec.Run, rec.Judging = nil, nil // which holds functions
	}
	assert.Equal(t, want, got)
}

func shownAs(t *testing.T, run *result.Run) string {
	t.Helper()
	text, err := json.Marshal(run)
	require.NoError(t, err)
	return string(text)
}

func (f *followed) append(t *testing.T, text []byte) {
	t.Helper()
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.Write(text)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// What a follower finds does not depend on where its readings ended.
func TestFollow(t *testing.T) {
	const readings = 12
	for name, lines := range recorded(t) {
		journal := []byte(strings.Join(lines, ""))
		f := follow(t, []byte(lines[0]))
		for rest := journal[len(lines[0]):]; len(rest) > 0; {
			size := min(len(rest), len(journal)/readings+1)
			f.append(t, rest[:size])
			rest = rest[size:]
			f.same(t, 1)
			require.False(t, t.Failed(), "%s, without the last %d bytes", name, len(rest))
		}
	}
}

// Old lines are not read again: a change of one is not noticed.
func TestFollowReadsTheEnd(t *testing.T) {
	journal := text(t, plain(t, 5))
	cut := bytes.LastIndexByte(journal[:len(journal)-1], '\n') + 1
	f := follow(t, journal[:cut])
	changed := bytes.Clone(journal)
	changed[bytes.IndexByte(journal, '\n')+20] ^= 1 // in the first sample
	require.NoError(t, os.WriteFile(f.path, changed, 0o644))
	rec, _, err := f.Read(t.Context())
	require.NoError(t, err)
	assert.True(t, rec.Ended)
	_, _, err = ReadRun(t.Context(), input.Opener{}, f.path, experiments.Known)
	assert.Error(t, err)
}

// A recording stays as it is when its journal has grown.
func TestFollowSnapshot(t *testing.T) {
	journal := []byte(strings.Join(recorded(t)["matrix"], ""))
	cut := bytes.LastIndexByte(journal[:len(journal)*3/4], '\n') + 1
	f := follow(t, journal[:cut])
	before, _, err := f.Read(t.Context())
	require.NoError(t, err)
	want, _, err := ReadRun(t.Context(), input.Opener{}, f.path, experiments.Known)
	require.NoError(t, err)
	f.append(t, journal[cut:])
	f.same(t, 1)
	assert.Equal(t, shownAs(t, want.Run), shownAs(t, before.Run))
}

// A file that is not the one that was read, with more lines, is read from its beginning.
func TestFollowAnew(t *testing.T) {
	journal := text(t, plain(t, 5))
	other := []byte(strings.Join(recorded(t)["matrix"], ""))
	ends := []int{}
	for at, c := range journal {
		if c == '\n' {
			ends = append(ends, at+1)
		}
	}
	var alike []byte
	for line := range strings.Lines(strings.ReplaceAll(string(journal), "it was short", "it was tight")) {
		alike = append(alike, resealed(line)...)
	}
	write := func(text []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, text, 0o644)) }
	}
	replace := func(text []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path+".new", text, 0o644))
			require.NoError(t, os.Rename(path+".new", path))
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		anew   int // more readings from the beginning
	}{
		"unchanged":                   {write(journal[:ends[3]]), 0},
		"grown":                       {write(journal[:ends[4]]), 0},
		"torn":                        {write(journal[:ends[3]+20]), 0},
		"a broken last line":          {write(append(bytes.Clone(journal[:ends[3]]), "{}\n"...)), 0},
		"cut":                         {write(journal[:ends[2]]), 1},
		"cut within a line":           {write(journal[:ends[3]-2]), 1},
		"another journal":             {write(other), 1},
		"another one of equal size":   {write(alike[:ends[3]]), 1},
		"another inode, same text":    {replace(journal[:ends[4]]), 1},
		"another inode, another text": {replace(other), 1},
		"a wrong line":                {write(append(bytes.Clone(journal[:ends[3]]), journal[:ends[0]]...)), 0},
		"a gap":                       {write(append(bytes.Clone(journal[:ends[3]]), journal[ends[4]:]...)), 0},
		"no journal":                  {write([]byte("words\n")), 0},
		"empty":                       {write(nil), 0},
		"removed":                     {func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := follow(t, journal[:ends[3]])
			c.change(t, f.path)
			f.same(t, 1+c.anew)
			write(journal)(t, f.path)
			_, _, err := f.Read(t.Context())
			require.NoError(t, err)
		})
	}
}
