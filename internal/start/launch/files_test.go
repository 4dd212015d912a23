package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/result"
)

// The files of a command are its program, those of its arguments and of the words in them, and the interpreters of scripts.
func TestFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(dir)
	write := func(name, text string, mode os.FileMode) { require.NoError(t, os.WriteFile(name, []byte(text), mode)) }
	require.NoError(t, os.Mkdir("bin", 0o755))
	write("bin/tool", "t", 0o755)
	write("bin/env", "e", 0o755)
	write("p", "p", 0o755)
	write("script", "#!"+dir+"/bin/env -S tool -x\n", 0o755)
	write("data", "d", 0o644)
	write("nothing", "", 0o644)
	require.NoError(t, os.Symlink("p", "link"))
	require.NoError(t, syscall.Mkfifo("fifo", 0o644))
	huge, err := os.Create("huge")
	require.NoError(t, err)
	require.NoError(t, huge.Truncate(mostData+1))
	require.NoError(t, huge.Close())
	for name, c := range map[string]struct {
		argv     []string
		programs []string
		others   []string
		unknown  string
	}{
		"a program":                   {argv: []string{"./p"}, programs: []string{"./p"}},
		"by PATH":                     {argv: []string{"tool"}, programs: []string{"tool"}},
		"none":                        {argv: []string{"missing", "data"}, others: []string{"data"}},
		"an empty command":            {},
		"a script":                    {argv: []string{"./script"}, programs: []string{"./script", dir + "/bin/env"}, others: []string{"tool"}},
		"arguments":                   {argv: []string{"./p", "data", "-v", "bin", "data", "p"}, programs: []string{"./p"}, others: []string{"data", "p"}},
		"a program that starts it":    {argv: []string{"tool", "-c", "0", "./link", "script"}, programs: []string{"tool"}, others: []string{"./link", "script", dir + "/bin/env", "tool"}},
		"by PATH, as an argument":     {argv: []string{"./p", "tool"}, programs: []string{"./p"}, others: []string{"tool"}},
		"the text of a shell":         {argv: []string{"./p", "-c", "X=1 './link' <data|(tool); cd /; missing"}, programs: []string{"./p"}, others: []string{"./link", "data", "tool"}},
		"the value of a flag":         {argv: []string{"./p", "--in=data"}, programs: []string{"./p"}, others: []string{"data"}},
		"what would wait, or is none": {argv: []string{"./p", "fifo", "/dev/zero", "nothing"}, programs: []string{"./p"}, others: []string{"nothing"}},
		"a large one":                 {argv: []string{"./p", "huge"}, programs: []string{"./p"}, others: []string{"huge"}, unknown: "open huge: is larger than 64 MiB"},
	} {
		files, warnings, err := Files(t.Context(), []string{"PATH=" + dir + "/bin"}, [][]string{c.argv})
		require.NoError(t, err, name)
		var programs, others []string
		for _, f := range files {
			if f.Program {
				programs = append(programs, f.Name)
			} else {
				others = append(others, f.Name)
			}
			assert.Equal(t, f.Name != "huge", f.SHA256 != "", "%s: %s", name, f.Name)
			assert.NotEmpty(t, f.Modified, "%s: %s", name, f.Name)
			assert.True(t, filepath.IsAbs(f.Path), "%s: %s", name, f.Path)
		}
		assert.Equal(t, c.programs, programs, name)
		assert.Equal(t, c.others, others, name)
		if c.unknown == "" {
			assert.Empty(t, warnings, name)
		} else if assert.Len(t, warnings, 1, name) {
			assert.Contains(t, warnings[0].Message, c.unknown, name)
		}
	}

	hash := func(files []result.File) string { return files[0].SHA256 }
	own := result.File{Name: "a name", Path: "./link"}
	files, _, err := Files(t.Context(), nil, nil, own)
	require.NoError(t, err)
	assert.Equal(t, "a name", files[0].Name)
	assert.Equal(t, dir+"/p", files[0].Path)
	before := hash(files)
	write("p", "q", 0o755)
	files, _, err = Files(t.Context(), nil, nil, own)
	require.NoError(t, err)
	assert.NotEqual(t, before, hash(files))

	many := []string{"./p"}
	for i := range mostWords {
		many = append(many, fmt.Sprint("none-", i))
	}
	_, warnings, err := Files(t.Context(), nil, [][]string{append(many, "data"), {"./link"}})
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0].Message, "follow the first 1000 arguments")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = Files(ended, nil, [][]string{{"./p"}})
	assert.ErrorIs(t, err, context.Canceled)
}
