package journal

import (
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/files/input"
	"gorun/internal/record/result"
)

func journalPath(t *testing.T) string { return filepath.Join(t.TempDir(), "run.jsonl") }

// create makes the journal of a file.
func create(path string) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return Create(file)
}

func write(t *testing.T, j *Writer, lines []result.Line) {
	t.Helper()
	for _, line := range lines {
		require.NoError(t, j.Write(line))
	}
}

// holds asserts that a journal has these lines, and nothing else.
func holds(t *testing.T, path string, lines []result.Line) {
	t.Helper()
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(text(t, lines)), string(kept))
}

// A journal keeps what is written to it. A figure that JSON cannot represent is an error of the experiment: the line is not
// written, and the journal stays complete.
func TestWriterKeepsLines(t *testing.T) {
	path, lines := journalPath(t), plain(t, 3)
	j, err := create(path)
	require.NoError(t, err)
	require.Error(t, j.Write(result.Line{Sample: &result.Sample{Seconds: math.NaN()}}))
	write(t, j, lines)
	require.NoError(t, j.Close())
	holds(t, path, lines)

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
	lines := plain(t, 1)
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
	require.NoError(t, j.Write(result.Line{Footer: &result.Footer{}}))
	assert.False(t, pending())
	require.NoError(t, j.Close())
}

// A run that was killed in the middle of a line resumes after the last complete one.
func TestOpenGoesOn(t *testing.T) {
	path, lines := journalPath(t), plain(t, 4)
	torn := append(text(t, lines[:3]), `{"sample":{"index":2,"sec`...)
	require.NoError(t, os.WriteFile(path, torn, 0o644))

	j, rec, err := reopen(t, path)
	require.NoError(t, err)
	assert.Equal(t, samplesOf(lines[:3]), rec.Run.Samples)
	assert.True(t, rec.Torn)
	require.NoError(t, j.Close())
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(torn), string(kept), "who only looks at a run changes nothing")

	j, _, err = reopen(t, path)
	require.NoError(t, err)
	write(t, j, lines[3:])
	require.NoError(t, j.Close())
	holds(t, path, lines)

	j, rec, err = reopen(t, path)
	require.NoError(t, err)
	assert.True(t, rec.Ended)
	write(t, j, lines[len(lines)-1:])
	require.NoError(t, j.Close())
	holds(t, path, append(lines, lines[len(lines)-1]))
}

// reopen opens a journal to continue it.
func reopen(t *testing.T, path string) (*Writer, *Recording, error) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	require.NoError(t, err)
	return Open(file, experiments.Known)
}

func TestOpenErrors(t *testing.T) {
	words := journalPath(t)
	require.NoError(t, os.WriteFile(words, []byte("words"), 0o644))
	_, _, err := reopen(t, words)
	require.ErrorContains(t, err, words+": line 1 does not begin a journal")
	kept, err := os.ReadFile(words)
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
		_, _, err := reopen(t, path)
		require.EqualError(t, err, "another gorun is writing to "+path)
		require.NotEmpty(t, hint.Of(err))
		_, err = create(path)
		require.ErrorContains(t, err, "another gorun")
	}
	refused()
	write(t, j, plain(t, 3))
	refused()
	_, err = Read(t.Context(), input.Opener{}, path, experiments.Known)
	require.NoError(t, err)
	require.NoError(t, j.Close())

	j, _, err = reopen(t, path)
	require.NoError(t, err)
	refused()
	require.NoError(t, j.Close())
}

// After a failed write the journal takes no more lines, even if the disk has room again: they would follow an
// incomplete line.
func TestJournalEndsWithAFailure(t *testing.T) {
	path, lines := journalPath(t), plain(t, 3)
	require.NoError(t, os.WriteFile(path, text(t, lines[:2]), 0o644))
	j, _, err := reopen(t, path)
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
	holds(t, path, lines[:2])
}

// A journal that was removed or replaced while it was open is noticed.
func TestJournalIsLost(t *testing.T) {
	path := journalPath(t)
	j, err := create(path)
	require.NoError(t, err)
	write(t, j, plain(t, 1))
	require.NoError(t, j.Lost())
	require.NoError(t, os.Remove(path))
	err = j.Lost()
	require.EqualError(t, err, path+" was removed or replaced during the run, and its samples with it")
	require.NotEmpty(t, hint.Of(err))
	require.NoError(t, os.WriteFile(path, text(t, plain(t, 1)), 0o644))
	require.Error(t, j.Lost(), "another file")
	require.NoError(t, j.Close())
}

// A file that holds no data, such as /dev/null, can be the journal of several runs at the same time. It cannot be lost.
func TestJournalThatIsNoFile(t *testing.T) {
	for range 2 {
		j, err := create(os.DevNull)
		require.NoError(t, err)
		defer j.Close()
		write(t, j, plain(t, 1))
		require.NoError(t, j.Lost())
		require.False(t, j.Regular())
	}
}

// Without --out the journal is nil, and can be used like any other.
func TestNoJournal(t *testing.T) {
	var j *Writer
	require.NoError(t, j.Write(result.Line{}))
	require.NoError(t, j.Lost())
	require.False(t, j.Regular())
	require.NoError(t, j.Close())
}
