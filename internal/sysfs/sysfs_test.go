package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/cpuset"
)

func file(content string) fs.FS { return fstest.MapFS{"dir/f": {Data: []byte(content)}} }

func TestReads(t *testing.T) {
	read := func(value any, err error) any {
		if err != nil {
			return err
		}
		return value
	}
	for _, c := range []struct {
		name    string
		content string
		read    func(fs.FS, string) any
		want    any // nil: malformed
	}{
		{"string", " a b\n", func(f fs.FS, n string) any { return read(ReadString(f, n)) }, "a b"},
		{"int", "-1\n", func(f fs.FS, n string) any { return read(ReadInt(f, n)) }, -1},
		{"int", "", func(f fs.FS, n string) any { return read(ReadInt(f, n)) }, nil},
		{"int", "1 2", func(f fs.FS, n string) any { return read(ReadInt(f, n)) }, nil},
		{"int", "99999999999999999999", func(f fs.FS, n string) any { return read(ReadInt(f, n)) }, nil},
		{"ints", "10 21\t31\n", func(f fs.FS, n string) any { return read(ReadInts(f, n)) }, []int{10, 21, 31}},
		{"ints", "10 x", func(f fs.FS, n string) any { return read(ReadInts(f, n)) }, nil},
		{"size", "32768K\n", func(f fs.FS, n string) any { return read(ReadSize(f, n)) }, uint64(32 << 20)},
		{"size", "32M", func(f fs.FS, n string) any { return read(ReadSize(f, n)) }, uint64(32 << 20)},
		{"size", "64", func(f fs.FS, n string) any { return read(ReadSize(f, n)) }, uint64(64)},
		{"size", "K", func(f fs.FS, n string) any { return read(ReadSize(f, n)) }, nil},
		{"size", "-4K", func(f fs.FS, n string) any { return read(ReadSize(f, n)) }, nil},
		{"size", "99999999999999M", func(f fs.FS, n string) any { return read(ReadSize(f, n)) }, nil},
		{"set", "0-2,5\n", func(f fs.FS, n string) any { return read(ReadSet(f, n)) }, cpuset.Of(0, 1, 2, 5)},
		{"set", "\n", func(f fs.FS, n string) any { return read(ReadSet(f, n)) }, cpuset.Set{}},
		{"set", "0-", func(f fs.FS, n string) any { return read(ReadSet(f, n)) }, nil},
		{"mask", "1,00000001\n", func(f fs.FS, n string) any { return read(ReadMask(f, n)) }, cpuset.Of(0, 32)},
		{"mask", "zz\n", func(f fs.FS, n string) any { return read(ReadMask(f, n)) }, nil},
		{"kB", "MemFree: 1 kB\nMemTotal:  12 kB\n", func(f fs.FS, n string) any {
			return read(ReadKB(f, n, "MemTotal"))
		}, uint64(12 << 10)},
		{"kB", "Node 0 MemTotal:  12 kB\n", func(f fs.FS, n string) any {
			return read(ReadKB(f, n, "Node 0 MemTotal"))
		}, uint64(12 << 10)},
		{"kB", "MemTotal: 12 MB\n", func(f fs.FS, n string) any { return read(ReadKB(f, n, "MemTotal")) }, nil},
		{"kB", "MemTotal: 12\n", func(f fs.FS, n string) any { return read(ReadKB(f, n, "MemTotal")) }, nil},
		{"field", "a:1\nb: x: y \n", func(f fs.FS, n string) any { return read(ReadField(f, n, "b")) }, "x: y"},
	} {
		got := c.read(file(c.content), "dir/f")
		err, failed := got.(error)
		if c.want != nil {
			assert.Equal(t, c.want, got, "%s %q", c.name, c.content)
			continue
		}
		require.True(t, failed, "%s %q: %v", c.name, c.content, got)
		assert.ErrorIs(t, err, ErrMalformed)
		assert.NotErrorIs(t, err, fs.ErrNotExist)
		assert.True(t, strings.HasPrefix(err.Error(), "dir/f: malformed: "), err.Error())
		assert.NotContains(t, err.Error(), "\n")

		absent, ok := c.read(fstest.MapFS{}, "dir/f").(error)
		require.True(t, ok)
		assert.ErrorIs(t, absent, fs.ErrNotExist)
		assert.NotErrorIs(t, absent, ErrMalformed)
		assert.Equal(t, 1, strings.Count(absent.Error(), "dir/f"), "the file is named, once: %v", absent)
	}

	_, err := ReadField(file("a: 1\n"), "dir/f", "b")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "field b")
}

func TestErrorsAreShort(t *testing.T) {
	_, err := ReadInt(file(strings.Repeat("x", 1<<16)), "dir/f")
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 120)
	_, err = ReadMask(file(strings.Repeat("x", 1<<16)), "dir/f")
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 120)
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
		require.ErrorIs(t, err, errBitmap, text)
	}
}

// mask formats a set as the kernel does.
func mask(set cpuset.Set) string {
	var groups []string
	for _, word := range slices.Backward(set.Words(1)) {
		groups = append(groups, fmt.Sprintf("%08x,%08x", word>>32, uint32(word)))
	}
	return strings.Join(groups, ",")
}

func TestParseMaskReadsWhatTheKernelWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := cpuset.Of(rapid.SliceOf(rapid.IntRange(0, cpuset.Max)).Draw(t, "cpus")...)
		got, err := ParseMask(mask(set))
		require.NoError(t, err)
		require.Equal(t, set.String(), got.String())
	})
}

func FuzzParseMask(f *testing.F) {
	for _, seed := range []string{"ff,00000001", "0", "", ",,,,", "80000000,00000000", "f\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ParseMask(text)
		if err != nil {
			require.ErrorIs(t, err, errBitmap)
			return
		}
		again, err := ParseMask(mask(set))
		require.NoError(t, err)
		require.True(t, set.Equal(again))
	})
}

// The readers of fields and sizes read or refuse any content without a panic.
func FuzzReadFile(f *testing.F) {
	for _, seed := range []string{"32768K", "MemTotal: 1 kB", "10 20", "0-3", "MemTotal:kB\nMemTotal", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		fsys := file(content)
		_, size := ReadSize(fsys, "dir/f")
		_, ints := ReadInts(fsys, "dir/f")
		_, kb := ReadKB(fsys, "dir/f", "MemTotal")
		_, set := ReadSet(fsys, "dir/f")
		for _, err := range []error{size, ints, kb, set} {
			if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("an error of neither kind: %v", err)
			}
		}
	})
}
