package hint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHint(t *testing.T) {
	inner := With(fmt.Errorf("cannot open it: %w", fs.ErrPermission), "be root")
	assert.Equal(t, "be root", Of(inner))
	assert.ErrorIs(t, inner, fs.ErrPermission)
	assert.EqualError(t, inner, "cannot open it: permission denied")

	outer := With(fmt.Errorf("run: %w", inner), "ask root")
	assert.Equal(t, "ask root", Of(outer))
	assert.Empty(t, Of(errors.New("plain")))
	assert.Empty(t, Of(nil))
}

// A suggestion is plausible, or there is none.
func TestNear(t *testing.T) {
	names := []string{"ab", "compare", "completion", "contend", "faults", "matrix", "metrics", "one-cpu", "one-llc", "verdicts"}
	for word, want := range map[string]string{
		"verdict": "verdicts", "fault": "faults", "one_cpu": "one-cpu", "ONE-CPU": "one-cpu", "metric": "metrics", "matrxi": "matrix",
		"comp": "compare or completion", "completoin": "completion", "complteoin": "completion",
		"x": "", "am": "", "zzz": "", "co": "", "one": "one-cpu or one-llc", "mxtrx": "", strings.Repeat("a", 1000): "", "": "",
	} {
		if want != "" {
			want = "is it " + want + "? "
		}
		assert.Equal(t, want, Near(word, names), word)
	}
	assert.Empty(t, Near("nam", []string{"name1", "name2", "name3", "name4"}), "too many are as near")
}

func TestFlag(t *testing.T) {
	_, missing := os.Open("no/such/file")
	for _, c := range []struct {
		value string
		err   error
		want  string
	}{
		{"5", errors.New("too many"), "--n 5: too many"},
		{"", errors.New("none"), `--n "": none`},
		{"no/such/file", missing, "--n no/such/file: no such file or directory"},
		{"a\x1b[31m\nb", errors.New("x"), `--n "a\x1b[31m\nb": x`},
		{
			strings.Repeat("é", 50_000), errors.New("x"),
			"--n " + strings.Repeat("é", 20) + "… (100000 bytes) …" + strings.Repeat("é", 20) + ": x",
		},
		{strings.Repeat("\x80", 1000), errors.New("x"), "--n … (1000 bytes) …: x"},
	} {
		err := Flag("n", c.value, c.err)
		assert.EqualError(t, err, c.want)
		assert.True(t, IsUsage(err))
	}
	err := Flag("n", "5", With(errors.New("too many"), "give fewer"))
	assert.Equal(t, "give fewer", Of(err))
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain, κόσμε 😀\nand more":  "plain, κόσμε 😀\n  and more",
		"\x1b[2J\a\r\t\u202e\u009b": `\x1b[2J\a\r\t\u202e\u009b`,
		"it's \"quoted\"":           `it's "quoted"`,
		"a " + strings.Repeat("x", 1000) + " z": "a " + strings.Repeat("x", 150) + "… (1000 bytes) …" +
			strings.Repeat("x", 150) + " z",
	} {
		assert.Equal(t, want, Printable(text))
	}
	assert.Less(t, len(Printable(strings.Repeat("word ", 100_000))), 2100)
}

// A build that cannot work says why, in one line, instead of listing what is missing.
func TestBuildWithoutCgo(t *testing.T) {
	build := exec.Command("go", "build", "gorun/csrc", "gorun/internal/kernel/linux", "gorun/internal/files/output")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.Error(t, err)
	assert.Regexp(t, `^# gorun/internal/base/hint\n.*"gorun needs Linux, a C compiler and CGO_ENABLED=1".*\n$`, string(out))
}
