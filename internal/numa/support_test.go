package numa

import (
	"errors"
	"maps"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/result"
	"gorun/internal/topology"
)

func TestMark(t *testing.T) {
	plain := result.NumaRow{
		PreferredNode: None, NUMABalancing: KeepSetting, Mem: Float, CPU: Float,
		BufferBytes: 64 << 20, Pages: "4k", Access: "random",
	}
	with := func(change func(*result.NumaRow)) result.NumaRow {
		row := plain
		change(&row)
		return row
	}
	pages := func(kind string, mem int) result.NumaRow {
		return with(func(r *result.NumaRow) { r.Pages, r.Mem = kind, mem })
	}
	balancing := func(value int) result.NumaRow {
		return with(func(r *result.NumaRow) { r.NUMABalancing = value })
	}
	on := func(mem int) result.NumaRow { return pages("4k", mem) }
	preferred := func(by string, mem, cpu int) result.NumaRow {
		return with(func(r *result.NumaRow) { r.PreferredNode, r.PreferredBy, r.Mem, r.CPU = 1, by, mem, cpu })
	}
	refused := hint.With(errors.New("refused"), "ask nicely")
	for _, c := range []struct {
		name    string
		support Support
		row     result.NumaRow
		want    string
	}{
		{"all is granted", Support{}, plain, ""},

		{"balancing is so", Support{Balancing: 1, SetBalancing: refused}, balancing(1), ""},
		{"balancing is kept", Support{Balancing: 1, SetBalancing: refused}, plain, ""},
		{
			"balancing is otherwise",
			Support{Balancing: 1, SetBalancing: refused},
			balancing(0),
			"NUMA balancing is 1 and cannot be set to 0: refused (ask nicely)",
		},
		{"balancing can be set", Support{Balancing: 1}, balancing(0), ""},
		{
			"balancing is hidden",
			Support{Unread: errors.New("hidden")},
			balancing(0),
			"hidden (--numa-balancing keep leaves it as it is)",
		},
		{"balancing is hidden and kept", Support{Unread: errors.New("hidden"), SetBalancing: refused}, plain, ""},

		{"by prctl", Support{Prctl: refused}, preferred(ByPrctl, 0, 0), "refused (ask nicely)"},
		{"by prctl, granted", Support{Mempolicy: refused}, preferred(ByPrctl, 0, 0), ""},
		{"none by prctl", Support{Prctl: refused}, plain, ""},
		{"by mempolicy", Support{Mempolicy: refused}, preferred(ByMempolicy, Float, 0), "refused (ask nicely)"},
		{"by mempolicy, granted", Support{Prctl: refused}, preferred(ByMempolicy, Float, 0), ""},
		{
			"by mempolicy, bound",
			Support{},
			preferred(ByMempolicy, 1, Float),
			"the memory is bound, so a memory policy cannot prefer another node",
		},

		{"thp", Support{THP: refused}, pages("thp", Float), "refused"},
		{"no such pages", Support{}, pages("1g", Float), "this machine has no reserved pages of 1g"},
		{"unknown pages", Support{}, pages("5k", 0), `not a kind of pages: "5k" (one of 4k, thp, 2m, 1g)`},
		{
			"enough pages in all",
			Support{Reserved: map[string]map[int]uint64{"2m": {-1: 32, 1: 31}}},
			pages("2m", Float), "",
		},
		{
			"too few on the node",
			Support{Reserved: map[string]map[int]uint64{"2m": {-1: 32, 1: 31}}},
			pages("2m", 1),
			"32 reserved pages of 2m on node 1 are needed and 31 are free (as root: nr_hugepages)",
		},
		{
			"a part of a page",
			Support{Reserved: map[string]map[int]uint64{"1g": {-1: 0}}},
			pages("1g", Float),
			"1 reserved pages of 1g are needed and 0 are free (as root: nr_hugepages)",
		},

		{
			"outside the cpuset",
			Support{Mems: cpuset.Of(0)},
			on(1),
			"this process may not use memory of node 1, only of 0 (Mems_allowed_list)",
		},
		{"inside the cpuset", Support{Mems: cpuset.Of(1)}, on(1), ""},
		{
			"too small a node",
			Support{Memory: map[int]uint64{0: 1 << 30, 1: 63 << 20}},
			on(1), "node 1 has 63 MiB of memory, less than the buffer's 64 MiB",
		},
		{"a large node", Support{Memory: map[int]uint64{0: 1 << 30, 1: 63 << 20}}, on(0), ""},
		{
			"too small a machine",
			Support{Memory: map[int]uint64{0: 32 << 20, 1: 31 << 20}},
			plain,
			"the machine has 63 MiB of memory, less than the buffer's 64 MiB",
		},
		{"both nodes are enough", Support{Memory: map[int]uint64{0: 33 << 20, 1: 31 << 20}}, plain, ""},
	} {
		rows := []result.NumaRow{c.row}
		assert.Equal(t, c.want == "", c.support.Mark(rows), c.name)
		assert.Equal(t, c.want, rows[0].Unsupported, c.name)
	}
	ignored := func(row result.NumaRow, balancing int) result.NumaRow {
		row.NUMABalancing = balancing
		return row
	}
	for _, c := range []struct {
		support Support
		row     result.NumaRow
		want    string
	}{
		{Support{Balancing: 1}, ignored(preferred(ByPrctl, 0, 0), 0), linux.PreferredNodeIgnored},
		{Support{}, preferred(ByPrctl, 0, 0), linux.PreferredNodeIgnored},
		{Support{Balancing: 1}, preferred(ByPrctl, 0, 0), ""},
		{Support{}, ignored(preferred(ByPrctl, 0, 0), 1), ""},
		{Support{Unread: refused}, preferred(ByPrctl, 0, 0), ""},
		{Support{Prctl: refused}, preferred(ByPrctl, 0, 0), ""},
		{Support{}, preferred(ByMempolicy, Float, 0), ""},
		{Support{}, plain, ""},
	} {
		rows := []result.NumaRow{c.row}
		c.support.Mark(rows)
		assert.Equal(t, c.want, rows[0].NoEffect, "%+v, %+v", c.support, c.row)
	}
	rows := []result.NumaRow{preferred(ByPrctl, 0, 0), plain}
	assert.True(t, Support{Prctl: refused}.Mark(rows), "one is left")
	assert.NotEmpty(t, rows[0].Unsupported)
	assert.Empty(t, rows[1].Unsupported)
}

// pool returns the files of a pool of pages of 2 MiB.
func pool(dir, free, reserved, overcommit, surplus string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"free": free, "resv": reserved, "nr_overcommit": overcommit, "surplus": surplus,
	} {
		files[dir+"hugepages/hugepages-2048kB/"+name+"_hugepages"] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return files
}

func TestReadSupport(t *testing.T) {
	m := recorded(t, "qemu-numa2")
	root := pool("sys/kernel/mm/", "10", "3", "5", "1")
	maps.Copy(root, pool("sys/devices/system/node/node0/", "10", "", "", "0"))
	maps.Copy(root, pool("sys/devices/system/node/node1/", "0", "", "", "1"))
	root["proc/sys/kernel/numa_balancing"] = &fstest.MapFile{Data: []byte("1\n")}
	s, odd := ReadSupport(root, m)
	require.Empty(t, odd)
	assert.Equal(t, 1, s.Balancing)
	assert.Equal(t, map[string]map[int]uint64{"2m": {-1: 11, 0: 11, 1: 4}}, s.Reserved)
	for _, node := range m.Nodes {
		assert.Equal(t, *node.MemoryBytes, s.Memory[node.Node])
	}

	kernel := fstest.MapFS{"proc/sys/kernel/osrelease": &fstest.MapFile{Data: []byte("6.1.0\n")}}
	s, odd = ReadSupport(kernel, m)
	require.Empty(t, odd, "a kernel with neither")
	assert.Zero(t, s.Balancing)
	assert.NoError(t, s.Unread)
	assert.Empty(t, s.Reserved)

	s, odd = ReadSupport(pool("sys/kernel/mm/", "ten", "0", "0", "0"), m)
	assert.Regexp(t, `free_hugepages: malformed: "ten" .*; pages of 2m are left out$`, strings.Join(odd, "\n"))
	assert.Empty(t, s.Reserved)
	for _, hidden := range []fstest.MapFS{{}, {"proc/sys/kernel/numa_balancing": &fstest.MapFile{}}} {
		s, odd = ReadSupport(hidden, m)
		require.Empty(t, odd)
		assert.ErrorContains(t, s.Unread, "whether NUMA balancing is on cannot be read")
	}

	s, odd = ReadSupport(kernel, recorded(t, "memoryless-node"))
	require.Empty(t, odd)
	assert.Len(t, s.Memory, 1, "the other node has none")
	assert.NotEmpty(t, s.lackMemory(result.NumaRow{Mem: Float, FirstTouch: TouchFar}))
	s.Memory[1] = 0 // not recorded
	assert.Empty(t, s.lackMemory(result.NumaRow{Mem: Float, BufferBytes: 1 << 50}))

	kernelWithoutNodes := pool("sys/kernel/mm/", "7", "0", "0", "0")
	s, odd = ReadSupport(kernelWithoutNodes, recorded(t, "qemu-cpu2"))
	require.Empty(t, odd)
	assert.Equal(t, map[int]uint64{-1: 7, 0: 7}, s.Reserved["2m"])
}

// Measure can do what Support reports for this machine; TestMeasure tries it.
func TestProbeThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	m, err := topology.Read(os.DirFS("/"))
	require.NoError(t, err)
	s, odd := ReadSupport(os.DirFS("/"), m)
	require.Empty(t, odd)
	for _, way := range preferredWays {
		s.Probe(m, way.name)
	}
	t.Logf("balancing %d (set: %v), prctl %v, mempolicy %v, thp %v, mems %s, reserved %v",
		s.Balancing, s.SetBalancing, s.Prctl, s.Mempolicy, s.THP, s.Mems, s.Reserved)
	if file, err := os.OpenFile("/proc/sys/kernel/numa_balancing", os.O_WRONLY, 0); err == nil {
		require.NoError(t, file.Close())
		assert.NoError(t, s.SetBalancing)
	} else {
		assert.Error(t, s.SetBalancing)
	}
	if !s.Mems.Empty() {
		assert.False(t, s.Mems.Intersect(withMemory(m)).Empty(), "some node with memory is allowed")
	}
}
