package render

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
)

func topoText(t testing.TB, m *topology.Machine, d topology.Details, width int) string {
	t.Helper()
	return text(TopologyOf(m, d, result.Tool{}), term.Options{Width: width})
}

// hostText shows a recorded machine.
func hostText(t *testing.T, name string, width int) string {
	t.Helper()
	m := hosts.Machine(t, name)
	return topoText(t, m, m.ReadDetails(hosts.Root(t, name)), width)
}

// shownHosts are the recorded machines that differ in how they are shown: each line of what shows a machine is needed for one of them.
// How all of them are read is in the golden file of package topology.
var shownHosts = []string{
	"arm-three-kinds", "container", "core-ids", "devices", "fake-numa", "gaps", "hybrid", "memoryless-node", "old-kernel", "snc",
	"two-sockets-one-node",
}

// Recorded machines are shown as the golden file has them.
func TestTopoHosts(t *testing.T) {
	const golden = "../../../testdata/golden/topo.txtar"
	got := new(txtar.Archive)
	for _, name := range shownHosts {
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(hostText(t, name, 0))})
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, txtar.Format(got), 0o644))
	}
	want, err := txtar.ParseFile(golden)
	require.NoError(t, err, "run the test once with -update")
	assert.Equal(t, string(txtar.Format(want)), string(txtar.Format(got)))
}

// A machine of 64 CPUs fits on a screen, in the columns that there are.
func TestTopoIsCompact(t *testing.T) {
	assert.Less(t, strings.Count(hostText(t, "epyc-2p-nps4", 100), "\n"), 45)
	for _, width := range []int{40, 72, 200} {
		for line := range strings.Lines(hostText(t, "epyc-2p-nps4", width)) {
			assert.LessOrEqual(t, len([]rune(line)), width+1, line)
		}
	}
}

// A machine with hundreds of devices has a table that ends, and says how many there are.
func TestTopoLimitsDevices(t *testing.T) {
	var d topology.Details
	for i := range 300 {
		d.Devices = append(d.Devices, topology.DeviceInterrupts{Device: topology.Device{PCI: fmt.Sprintf("0000:%02x:00.0", i)}})
	}
	shown := topoText(t, hosts.Machine(t, "devices"), d, 0)
	assert.Less(t, strings.Count(shown, "\n"), 90)
	assert.Contains(t, shown, "and 252 more: gorun topo --format json")
}

func TestThreadsText(t *testing.T) {
	cores := func(threads ...[]int) [][]topology.CPU {
		var out [][]topology.CPU
		for i, numbers := range threads {
			var core []topology.CPU
			for _, n := range numbers {
				core = append(core, topology.CPU{CPU: n, Core: i, Online: true})
			}
			out = append(out, core)
		}
		return out
	}
	for want, in := range map[string][][]topology.CPU{
		"0":                       cores([]int{0}),
		"0-2,7":                   cores([]int{0}, []int{1}, []int{2}, []int{7}),
		"(0,1)":                   cores([]int{0, 1}),
		"(0,4) (1,5)":             cores([]int{0, 4}, []int{1, 5}),
		"(0,4)…(3,7)":             cores([]int{0, 4}, []int{1, 5}, []int{2, 6}, []int{3, 7}),
		"(0,1)…(4,5)":             cores([]int{0, 1}, []int{2, 3}, []int{4, 5}),
		"(0,4) (1) (2,6)":         cores([]int{0, 4}, []int{1}, []int{2, 6}),
		"(0,4) (1,6) (2,8)":       cores([]int{0, 4}, []int{1, 6}, []int{2, 8}),
		"(9) (0,4)…(2,6) (3,8)":   cores([]int{9}, []int{0, 4}, []int{1, 5}, []int{2, 6}, []int{3, 8}),
		"(0,1,2,3)…(8,9,10,11)":   cores([]int{0, 1, 2, 3}, []int{4, 5, 6, 7}, []int{8, 9, 10, 11}),
		"(0,8)…(2,10) (4,12)":     cores([]int{0, 8}, []int{1, 9}, []int{2, 10}, []int{4, 12}),
		"(0,8) (4,12)…(6,14) (1)": cores([]int{0, 8}, []int{4, 12}, []int{5, 13}, []int{6, 14}, []int{1}),
	} {
		assert.Equal(t, want, threadsText(in))
	}
}

// FuzzTopo holds that whatever Read accepts can be shown.
func FuzzTopo(f *testing.F) {
	for _, name := range []string{"gaps", "hybrid", "devices", "fake-numa", "cxl-memory", "old-kernel"} {
		data, err := os.ReadFile("../../../testdata/hosts/" + name + ".txtar")
		require.NoError(f, err)
		f.Add(data, 80)
	}
	f.Fuzz(func(t *testing.T, data []byte, width int) {
		fsys, err := txtar.FS(txtar.Parse(data))
		if err != nil {
			return
		}
		if m, err := topology.Read(fsys); err == nil {
			require.NotEmpty(t, topoText(t, m, m.ReadDetails(fsys), width))
		}
	})
}
