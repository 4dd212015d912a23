package numa

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

func TestMark(t *testing.T) {
	plain := result.NumaRow{
		PreferredNode: None, NUMABalancing: KeepSetting, Mem: Float, CPU: Float,
		BufferBytes: 64 << 20, Pages: "4k", Access: "random",
	}
	on := func(mem int, pages string, balancing int) result.NumaRow {
		row := plain
		row.Mem, row.Pages, row.NUMABalancing = mem, pages, balancing
		return row
	}
	balancing := func(value int) result.NumaRow { return on(Float, "4k", value) }
	preferred := func(by string, mem, cpu, balancing int) result.NumaRow {
		row := on(mem, "4k", balancing)
		row.PreferredNode, row.PreferredBy, row.CPU = 1, by, cpu
		return row
	}
	const ignored = linux.PreferredNodeIgnored
	refused, hidden := hint.With(errors.New("refused"), "ask nicely"), errors.New("hidden")
	unmapped := func(o linux.AreaOptions) error {
		if o == (linux.AreaOptions{Bytes: 64 << 20, Node: 1, Pages: linux.Pages2M}) {
			return refused
		}
		return nil
	}
	small := map[int]uint64{0: 1 << 30, 1: 63 << 20}
	for _, c := range []struct {
		name                  string
		support               Support
		row                   result.NumaRow
		unsupported, noEffect string
	}{
		{"all is granted", Support{}, plain, "", ""},
		{"balancing is so", Support{Balancing: 1, SetBalancing: refused}, balancing(1), "", ""},
		{"balancing is kept", Support{Balancing: 1, SetBalancing: refused}, plain, "", ""},
		{
			"balancing is otherwise",
			Support{Balancing: 1, SetBalancing: refused},
			balancing(0),
			"NUMA balancing is 1 and cannot be set to 0: refused (ask nicely)", "",
		},
		{"balancing can be set", Support{Balancing: 1}, balancing(0), "", ""},
		{"balancing is hidden", Support{Unread: hidden}, balancing(0), "hidden (--numa-balancing keep leaves it as it is)", ""},
		{"balancing is hidden and kept", Support{Unread: hidden, SetBalancing: refused}, plain, "", ""},

		{"by prctl", Support{Prctl: refused}, preferred(ByPrctl, 0, 0, KeepSetting), "refused (ask nicely)", ""},
		{"by prctl, granted", Support{Mempolicy: refused, Balancing: 1}, preferred(ByPrctl, 0, 0, KeepSetting), "", ""},
		{"none by prctl", Support{Prctl: refused}, plain, "", ""},
		{"by mempolicy", Support{Mempolicy: refused}, preferred(ByMempolicy, Float, 0, KeepSetting), "refused (ask nicely)", ""},
		{"by mempolicy, granted", Support{Prctl: refused}, preferred(ByMempolicy, Float, 0, KeepSetting), "", ""},
		{
			"by mempolicy, bound",
			Support{},
			preferred(ByMempolicy, 1, Float, KeepSetting),
			"the memory is bound, so a memory policy cannot prefer another node", "",
		},
		{"by prctl, balancing set to 0", Support{Balancing: 1}, preferred(ByPrctl, 0, 0, 0), "", ignored},
		{"by prctl, balancing is 0", Support{}, preferred(ByPrctl, 0, 0, KeepSetting), "", ignored},
		{"by prctl, balancing set to 1", Support{}, preferred(ByPrctl, 0, 0, 1), "", ""},
		{"by prctl, balancing is hidden", Support{Unread: hidden}, preferred(ByPrctl, 0, 0, KeepSetting), "", ""},

		{"a mapping", Support{Map: unmapped}, on(1, "2m", KeepSetting), "refused (ask nicely)", ""},
		{"too small a node", Support{Memory: small}, on(1, "4k", KeepSetting), "node 1 has 63 MiB of memory, less than the buffer's 64 MiB", ""},
		{"a large node", Support{Memory: small}, on(0, "4k", KeepSetting), "", ""},
	} {
		rows := []result.NumaRow{c.row}
		c.support.Mark(rows)
		assert.Equal(t, c.unsupported, rows[0].Unsupported, c.name)
		assert.Equal(t, c.noEffect, rows[0].NoEffect, c.name)
	}
}

func TestReadSupport(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2")
	s := ReadSupport(fstest.MapFS{"proc/sys/kernel/numa_balancing": {Data: []byte("1\n")}}, m)
	assert.Equal(t, 1, s.Balancing)
	for _, node := range m.Nodes {
		assert.Equal(t, *node.MemoryBytes, s.Memory[node.Node])
	}

	kernel := fstest.MapFS{"proc/sys/kernel/osrelease": &fstest.MapFile{Data: []byte("6.1.0\n")}}
	s = ReadSupport(kernel, m)
	assert.Zero(t, s.Balancing, "it has none")
	assert.NoError(t, s.Unread)
	for _, hidden := range []fstest.MapFS{{}, {"proc/sys/kernel/numa_balancing": &fstest.MapFile{}}} {
		assert.ErrorContains(t, ReadSupport(hidden, m).Unread, "whether NUMA balancing is on cannot be read")
	}

	s = ReadSupport(kernel, hosts.Machine(t, "memoryless-node"))
	assert.Len(t, s.Memory, 1, "the other node has none")
	assert.NotEmpty(t, s.lackMemory(result.NumaRow{Mem: Float, FirstTouch: TouchFar}))
}
