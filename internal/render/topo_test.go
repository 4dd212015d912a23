package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/cpuset"
	"gorun/internal/render/term"
	"gorun/internal/sysfs"
	"gorun/internal/topology"
)

// readHost reads a recorded machine by its file name.
func readHost(t *testing.T, file string) (*topology.Machine, topology.Details) {
	t.Helper()
	fsys, err := sysfs.OpenRoot(filepath.Join("../../testdata/hosts", file))
	require.NoError(t, err)
	m, err := topology.Read(fsys)
	require.NoError(t, err)
	return m, m.ReadDetails(fsys)
}

func topoText(t testing.TB, m *topology.Machine, d topology.Details, opts term.Options) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, Topo(&out, m, d, opts))
	return out.String()
}

// hostText shows a recorded machine by its file name.
func hostText(t *testing.T, file string, opts term.Options) string {
	t.Helper()
	m, d := readHost(t, file)
	return topoText(t, m, d, opts)
}

// Every recorded machine is shown as the golden file has it, each of its CPUs somewhere.
func TestTopoHosts(t *testing.T) {
	const golden = "../../testdata/golden/topo.txtar"
	files, err := filepath.Glob("../../testdata/hosts/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	got := new(txtar.Archive)
	for _, file := range files {
		text := hostText(t, filepath.Base(file), term.Options{})
		for line := range strings.Lines(text) {
			assert.Equal(t, strings.TrimRight(line, " \n")+"\n", line, "no trailing space")
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, txtar.Format(got), 0o644))
	}
	want, err := txtar.ParseFile(golden)
	require.NoError(t, err, "run the test once with -update")
	require.Len(t, got.Files, len(want.Files))
	for i, file := range got.Files {
		assert.Equal(t, want.Files[i].Name, file.Name)
		assert.Equal(t, string(want.Files[i].Data), string(file.Data), file.Name)
	}
}

func TestTopoSaysWhyACPUIsNotOurs(t *testing.T) {
	m, d := readHost(t, "container.txtar")
	m.SetCgroup(cpuset.Of(2, 3, 6, 7))
	text := topoText(t, m, d, term.Options{})
	assert.Contains(t, text, "  not ours   0-1, 4-5: outside the cpuset of its cgroup\n")
	assert.Contains(t, text, "  not ours   7: outside the affinity mask\n")
}

// A machine of 256 CPUs fits on a screen, in the columns that there are.
func TestTopoIsCompact(t *testing.T) {
	m, d := readHost(t, "epyc-2p-nps4.txtar")
	text := topoText(t, m, d, term.Options{Width: 100})
	assert.Less(t, strings.Count(text, "\n"), 45)
	for _, width := range []int{40, 72, 200} {
		for line := range strings.Lines(topoText(t, m, d, term.Options{Width: width})) {
			assert.LessOrEqual(t, len([]rune(line)), width+1, line)
		}
	}
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
		data, err := os.ReadFile("../../testdata/hosts/" + name + ".txtar")
		require.NoError(f, err)
		f.Add(data, 80)
	}
	f.Fuzz(func(t *testing.T, data []byte, width int) {
		fsys, err := txtar.FS(txtar.Parse(data))
		if err != nil {
			return
		}
		if m, err := topology.Read(fsys); err == nil {
			require.NotEmpty(t, topoText(t, m, m.ReadDetails(fsys), term.Options{Width: width}))
		}
	})
}
