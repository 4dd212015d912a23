package cgroup

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseMemberships(t *testing.T) {
	got, err := parseMemberships("12:cpu,cpuacct:/a:b/c\n1:name=systemd:/\n0::/x y\n")
	require.NoError(t, err)
	assert.Equal(t, []membership{
		{controllers: []string{"cpu", "cpuacct"}, path: "/a:b/c"},
		{controllers: []string{"name=systemd"}, path: "/"},
		{v2: true, path: "/x y"},
	}, got)
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

func TestParseMountsUnescapes(t *testing.T) {
	got, err := parseMounts(`1 2 0:29 /a\134b /mnt/x\040y\011z rw shared:1 master:2 - cgroup cgroup rw,cpu` + "\n")
	require.NoError(t, err)
	assert.Equal(t, []mount{{root: `/a\b`, point: "mnt/x y\tz", options: []string{"rw", "cpu"}}}, got)
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

func FuzzParseMemberships(f *testing.F) {
	for _, fsys := range hosts {
		if file, ok := fsys["proc/self/cgroup"]; ok {
			f.Add(string(file.Data))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		memberships, err := parseMemberships(text)
		if err != nil {
			return
		}
		for _, m := range memberships {
			require.True(t, strings.HasPrefix(m.path, "/"))
		}
	})
}

// Every path found in any mountinfo is valid for an fs.FS.
func FuzzParseMounts(f *testing.F) {
	for _, fsys := range hosts {
		if file, ok := fsys["proc/self/mountinfo"]; ok {
			f.Add(string(file.Data), "/a/b")
		}
	}
	f.Add("1 2 3 / / rw - cgroup2 c rw\n", "/..")
	f.Add("1 2 3 /.. /../x rw - cgroup2 c\n", "/../y")
	f.Fuzz(func(t *testing.T, text, group string) {
		mounts, err := parseMounts(text)
		if err != nil {
			return
		}
		for _, m := range mounts {
			require.NotContains(t, strings.Split(m.point, "/"), "..")
			require.False(t, strings.HasPrefix(m.point, "/"))
		}
		dirs, _ := locate(fstest.MapFS{}, mounts, group)
		for _, dir := range dirs {
			require.NotContains(t, strings.Split(dir, "/"), "..")
		}
	})
}

func FuzzParseQuota(f *testing.F) {
	for _, seed := range []string{"max 100000", "max", "50000 100000", "-1 5", "1", "1  1", "18446744073709551615 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus, limited, err := parseQuota(text)
		require.Equal(t, limited, cpus > 0)
		if err != nil {
			require.False(t, limited)
		}
	})
}

func FuzzParseMax(f *testing.F) {
	for _, seed := range []string{"max", "0", "9223372036854771712", "4611686018427387903", "-1", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		most, limited, err := parseMax(text)
		if err == nil && limited {
			again, limited, err := parseMax(fmt.Sprint(most))
			require.NoError(t, err)
			require.True(t, limited)
			require.Equal(t, most, again)
		}
	})
}

func FuzzParseStat(f *testing.F) {
	f.Add("nr_periods 1\nnr_throttled 2\nthrottled_usec 3\n")
	f.Add("a\n")
	f.Add("\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		stat, err := parseStat(text)
		if err != nil {
			require.Nil(t, stat)
			return
		}
		var b strings.Builder
		for key, n := range stat {
			fmt.Fprintf(&b, "%s %d\n", key, n)
		}
		again, err := parseStat(b.String())
		require.NoError(t, err)
		require.Equal(t, stat, again)
	})
}
