package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func file(content string) fs.FS { return fstest.MapFS{"dir/f": {Data: []byte(content)}} }

// as makes a reader of values of any type.
func as[T any](read func(fs.FS, string) (T, error)) func(fs.FS, string) (any, error) {
	return func(fsys fs.FS, name string) (any, error) { return read(fsys, name) }
}

// Each reader reads what the kernel writes. Its errors name the file once, on one short line.
func TestReads(t *testing.T) {
	field := func(name string) func(fs.FS, string) (any, error) {
		return func(fsys fs.FS, file string) (any, error) { return ReadKB(fsys, file, name) }
	}
	long := strings.Repeat("x", 1<<16)
	for name, c := range map[string]struct {
		read      func(fs.FS, string) (any, error)
		good      map[string]string // printed
		malformed []string
	}{
		"string":  {as(ReadString), map[string]string{" a b\n": "a b"}, nil},
		"int":     {as(ReadInt), map[string]string{"-1\n": "-1"}, []string{"", "1 2", "99999999999999999999", long}},
		"ints":    {as(ReadInts), map[string]string{"10 21\t31\n": "[10 21 31]"}, []string{"10 x"}},
		"size":    {as(ReadSize), map[string]string{"3K\n": "3072", "3M": "3145728", "64": "64"}, []string{"K", "-4K", "99999999999999M"}},
		"set":     {as(ReadSet), map[string]string{"0-2,5\n": "0-2,5", "\n": ""}, []string{"0-"}},
		"mask":    {as(ReadMask), map[string]string{"1,00000001\n": "0,32"}, []string{"zz\n", long}},
		"kB":      {field("MemTotal"), map[string]string{"x: 1 kB\nMemTotal:  12 kB\n": "12288"}, []string{"MemTotal: 12 MB", "MemTotal: 12"}},
		"node kB": {field("Node 0 MemTotal"), map[string]string{"Node 0 MemTotal:  12 kB\n": "12288"}, nil},
	} {
		for content, want := range c.good {
			got, err := c.read(file(content), "dir/f")
			require.NoError(t, err, "%s %q", name, content)
			assert.Equal(t, want, fmt.Sprint(got), "%s %q", name, content)
		}
		for _, content := range c.malformed {
			_, err := c.read(file(content), "dir/f")
			require.ErrorIs(t, err, ErrMalformed, "%s %q", name, content)
			assert.NotErrorIs(t, err, fs.ErrNotExist)
			assert.True(t, strings.HasPrefix(err.Error(), "dir/f: malformed: "), err.Error())
			assert.NotContains(t, err.Error(), "\n")
			assert.Less(t, len(err.Error()), 120)
		}
		_, absent := c.read(fstest.MapFS{}, "dir/f")
		require.ErrorIs(t, absent, fs.ErrNotExist)
		assert.NotErrorIs(t, absent, ErrMalformed)
		assert.Equal(t, 1, strings.Count(absent.Error(), "dir/f"), absent)
	}
	text, err := ReadField(file("a:1\nb: x: y \n"), "dir/f", "b")
	require.NoError(t, err)
	assert.Equal(t, "x: y", text)
	_, err = ReadField(file("a: 1\n"), "dir/f", "b")
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "field b")
}

func TestParseMask(t *testing.T) {
	for text, want := range map[string]string{
		"0":                                     "",
		"1":                                     "0",
		"f":                                     "0-3",
		"00000000,0000000f\n":                   "0-3",
		"ff,00000001":                           "0,32-39",
		"80000000,00000000,00000000":            "95",
		"1,00000000,00000000":                   "64",
		"FFFFFFFF":                              "0-31",
		"1" + strings.Repeat(",00000000", 2047): "65504",
	} {
		set, err := ParseMask(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, set.String(), text)
	}
	for _, text := range []string{
		"", ",", "1,", ",1", "g", "0x1", "-1", "+1", "1 2", "123456789", "000000001", "1_0",
		"1" + strings.Repeat(",00000000", 2048),
	} {
		_, err := ParseMask(text)
		require.ErrorContains(t, err, "not a CPU bitmap: ", text)
	}
}

// The readers of fields and sizes read or refuse any content without a panic.
func FuzzReadFile(f *testing.F) {
	for _, seed := range []string{"32768K", "MemTotal: 1 kB", "10 20", "0-3", "ff,00000001", "MemTotal:kB\nMemTotal", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		fsys := file(content)
		_, size := ReadSize(fsys, "dir/f")
		_, ints := ReadInts(fsys, "dir/f")
		_, kb := ReadKB(fsys, "dir/f", "MemTotal")
		_, set := ReadSet(fsys, "dir/f")
		_, mask := ReadMask(fsys, "dir/f")
		for _, err := range []error{size, ints, kb, set, mask} {
			if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("an error of neither kind: %v", err)
			}
		}
	})
}
