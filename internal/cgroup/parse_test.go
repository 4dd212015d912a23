package cgroup

import (
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseMembership(t *testing.T) {
	for line, want := range map[string]membership{
		"12:cpu,cpuacct:/a:b/c": {controllers: []string{"cpu", "cpuacct"}, path: "/a:b/c"},
		"1:name=systemd:/":      {controllers: []string{"name=systemd"}, path: "/"},
		"0::/x y":               {v2: true, path: "/x y"},
	} {
		got, err := parseMembership(line)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestChoosePrefersVersion1InAnyOrder(t *testing.T) {
	v2, v1 := membership{v2: true, path: "/new"}, membership{controllers: []string{"cpu", "cpuacct"}, path: "/old"}
	for _, memberships := range [][]membership{{v1, v2}, {v2, v1}} {
		own, ok := choose(memberships, "cpu")
		assert.True(t, ok)
		assert.Equal(t, v1, own)
		own, ok = choose(memberships, "pids")
		assert.True(t, ok)
		assert.Equal(t, v2, own)
	}
	_, ok := choose([]membership{v1}, "pids")
	assert.False(t, ok)
}

func TestParseMountUnescapes(t *testing.T) {
	got, err := parseMount(`1 2 0:29 /a\134b /mnt/x\040y\011z rw shared:1 master:2 - cgroup cgroup rw,cpu`)
	require.NoError(t, err)
	assert.Equal(t, mount{root: `/a\b`, point: "mnt/x y\tz", options: []string{"rw", "cpu"}}, got)
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		root, group, below string
		ok                 bool
	}{
		{"/", "/", "/", true},
		{"/", "/a/b", "/a/b", true},
		{"/a", "/a", "", true},
		{"/a", "/a/b", "/b", true},
		{"/a", "/ab", "", false},
		{"/a", "/", "", false},
		{"/", "/..", "", false},
		{"/", "/../x", "", false},
		{"/..", "/../x", "/x", true},
		{"/..", "/../../x", "", false},
		{"/../..", "/..", "", false},
	} {
		below, ok := within(c.root, c.group)
		assert.Equal(t, c.ok, ok, "%s in %s", c.group, c.root)
		assert.Equal(t, c.below, below, "%s in %s", c.group, c.root)
	}
}

// For any mount point and depth of the group, all directories from the group to the top are found.
func TestLocateFindsEveryAncestor(t *testing.T) {
	name := rapid.StringMatching(`[a-z0-9@._-]{0,5}[a-z0-9]`)
	rapid.Check(t, func(t *rapid.T) {
		point := append([]string{"mnt"}, rapid.SliceOfN(name, 0, 3).Draw(t, "point")...)
		root := rapid.SliceOfN(name, 0, 3).Draw(t, "root")
		group := rapid.SliceOfN(name, 0, 4).Draw(t, "group")
		dir := path.Join(append(point, group...)...)
		fsys := fstest.MapFS{path.Join(dir, "cgroup.procs"): {}}
		m := mount{v2: true, root: "/" + path.Join(root...), point: path.Join(point...)}
		dirs, own := locate(fsys, []mount{m}, "/"+path.Join(append(root, group...)...))
		require.True(t, own)
		require.Len(t, dirs, len(group)+1)
		require.Equal(t, dir, dirs[0])
		require.Equal(t, m.point, dirs[len(group)])
		for i := 1; i < len(dirs); i++ {
			require.Equal(t, path.Dir(dirs[i-1]), dirs[i])
		}
	})
}

// No content of the files of control groups causes a panic, or a name that is not one of an fs.FS.
func FuzzFiles(f *testing.F) {
	for _, fsys := range hosts {
		for _, name := range []string{membershipFile, mountsFile} {
			if file, ok := fsys[name]; ok {
				f.Add(string(file.Data), "/a/b")
			}
		}
	}
	f.Add("1 2 3 / / rw - cgroup2 c rw\n", "/..")
	f.Add("1 2 3 /.. /../x rw - cgroup2 c\n", "/../y")
	for _, text := range []string{"max 100000", "-1 5", "1", "1  1", "18446744073709551615 1", "9223372036854771712", "nr_periods 1\n", "a\n"} {
		f.Add(text, "/")
	}
	f.Fuzz(func(t *testing.T, text, group string) {
		fsys := fstest.MapFS{"f": {Data: []byte(text)}}
		memberships, err := readLines(fsys, "f", parseMembership)
		for _, m := range memberships {
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(m.path, "/"))
		}
		mounts, err := readLines(fsys, "f", parseMount)
		mounts = slices.DeleteFunc(mounts, func(m mount) bool { return m.point == "" }) // of other file systems
		for _, m := range mounts {
			require.NoError(t, err)
			require.NotContains(t, strings.Split(m.point, "/"), "..")
			require.False(t, strings.HasPrefix(m.point, "/"))
		}
		dirs, _ := locate(fstest.MapFS{}, mounts, group)
		for _, dir := range dirs {
			require.NotContains(t, strings.Split(dir, "/"), "..")
		}
		cpus, limited, err := parseQuota(text)
		require.Equal(t, limited, cpus > 0)
		require.False(t, limited && err != nil)
		_, limited, err = readMax(fsys, "f")
		require.False(t, limited && err != nil)
		stat, err := readStat(fsys, "f")
		require.Equal(t, err != nil, stat == nil)
	})
}
