package topology_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

const goldenFile = "../../../testdata/golden/topology.txtar"

// golden compares an archive of results with the golden file, member by member.
func golden(t *testing.T, got *txtar.Archive) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(goldenFile, txtar.Format(got), 0o644))
	}
	want, err := txtar.ParseFile(goldenFile)
	require.NoError(t, err, "look at the machine and accept what is read: go test ./internal/machine/topology -update")
	require.Len(t, got.Files, len(want.Files), "look at the new machine and accept it with -update")
	for i, file := range got.Files {
		require.Equal(t, want.Files[i].Name, file.Name)
		require.Equal(t, string(want.Files[i].Data), string(file.Data), file.Name)
	}
}

// innermost matches the objects of a golden file that take a line each: CPUs, nodes, caches.
var innermost = regexp.MustCompile(`\{[^{}]*\}`)

// Every recorded machine is read as in its golden file, and each selector gives the CPUs listed there. The numbers of cores,
// caches, packages and nodes there were counted by hand.
func TestHosts(t *testing.T) {
	read := new(txtar.Archive)
	for _, name := range hosts.Names(t) {
		t.Run(name, func(t *testing.T) {
			m := hosts.Machine(t, name)
			requireSound(t, m)
			counts := m.Counts()
			require.LessOrEqual(t, counts.Packages, counts.LLCs)
			require.LessOrEqual(t, counts.LLCs, counts.Cores)
			require.LessOrEqual(t, counts.Cores, counts.Online)

			doc, err := json.MarshalIndent(m.Document("gorun/v1"), "", "\t")
			require.NoError(t, err)
			text := innermost.ReplaceAllStringFunc(string(doc), func(object string) string {
				return strings.Join(strings.Fields(object), " ")
			})
			read.Files = append(read.Files, txtar.File{Name: name + ".json", Data: []byte(text + "\n")},
				txtar.File{Name: name + ".selectors", Data: []byte(selectorsText(m))})
		})
	}
	golden(t, read)
}

// selectorsText shows the CPUs of each selector with each of its numbers, among the allowed CPUs.
func selectorsText(m *topology.Machine) string {
	var out strings.Builder
	for _, s := range topology.Selectors {
		terms := []string{s.Name}
		if s.Argument() != "" {
			terms = m.Complete(s.Name + ":")
		}
		for _, term := range terms {
			cpus, err := m.Select(term, m.Allowed())
			if err != nil {
				fmt.Fprintf(&out, "%s: error: %v\n", term, err)
				continue
			}
			fmt.Fprintf(&out, "%s: %s\n", term, strings.Trim(fmt.Sprint(cpus), "[]"))
		}
	}
	return out.String()
}

// requireSound checks the invariants of every machine that Read accepts.
func requireSound(t require.TestingT, m *topology.Machine) {
	counts, nodes := m.Counts(), map[int]topology.Node{}
	for _, node := range m.Nodes {
		nodes[node.Node] = node
		require.True(t, len(node.Distances) == 0 || len(node.Distances) == len(m.Nodes))
	}
	require.Equal(t, len(m.CPUs), counts.CPUs)
	require.Equal(t, m.Online().Len(), counts.Online)
	require.Positive(t, counts.Online)
	require.Positive(t, counts.Nodes)
	require.True(t, m.Allowed().Minus(m.Online()).Empty())

	core, llc, last := 0, 0, -1
	for _, c := range m.CPUs {
		require.Greater(t, c.CPU, last)
		last = c.CPU
		if !c.Online {
			require.Equal(t, topology.CPU{CPU: c.CPU, Core: -1, LLC: -1, Node: -1, Package: -1, Die: -1, Kind: -1}, c)
			continue
		}
		require.LessOrEqual(t, c.Core, core, "cores are counted in the order of their lowest CPU")
		require.LessOrEqual(t, c.LLC, llc, "caches are counted in the order of their lowest CPU")
		core, llc = max(core, c.Core+1), max(llc, c.LLC+1)
		require.True(t, m.LLCs[c.LLC].CPUs.Contains(c.CPU))
		require.True(t, c.Node == topology.Unknown || nodes[c.Node].CPUs.Contains(c.CPU))
		require.GreaterOrEqual(t, c.Package, 0)
	}
	require.Equal(t, counts.Cores, core)
	require.Equal(t, counts.LLCs, llc)
	for _, cpus := range m.Kinds() {
		require.False(t, cpus.Empty())
	}
}

// A damaged machine gives the warning announced in its file, which names the faulty file, and the rest of it is read
// as on the intact machine. If no file says which CPUs there are, or which are allowed, there is an error.
func TestDamaged(t *testing.T) {
	for _, name := range hosts.Damaged(t) {
		t.Run(name, func(t *testing.T) {
			comment := string(hosts.Archive(t, name).Comment)
			m, err := topology.Read(hosts.Root(t, name))
			if _, want, ok := strings.Cut(comment, "\nwarning: "); ok {
				require.NoError(t, err)
				requireSound(t, m)
				assert.Equal(t, topology.Counts{CPUs: 4, Online: 4, Cores: 2, Packages: 1, Nodes: 1, LLCs: 1}, m.Counts())
				assert.Contains(t, strings.Join(m.Warnings, "\n"), strings.TrimSpace(want))
				return
			}
			_, want, ok := strings.Cut(comment, "\nerror: ")
			require.True(t, ok, "the comment of a damaged machine has a line \"warning: …\" or \"error: …\"")
			require.Error(t, err)
			assert.Nil(t, m)
			assert.Contains(t, err.Error(), strings.TrimSpace(want))
			assert.True(t, strings.HasPrefix(err.Error(), "cannot understand this machine: "), err.Error())
			assert.NotContains(t, err.Error(), "\n")
			assert.Less(t, len(err.Error()), 250)
		})
	}
}

func TestWhyNot(t *testing.T) {
	m := hosts.Machine(t, "container")
	assert.Equal(t, "2-3,6", m.Allowed().String())
	assert.Equal(t, "outside the affinity mask", m.WhyNot(7))

	m.SetCgroup(cpuset.Of(2, 3, 6, 7))
	assert.Equal(t, "2-3,6", m.Allowed().String())
	assert.Equal(t, "2-3,6-7", m.Possible().String(), "no mask leaves the cpuset")
	assert.Equal(t, "", m.WhyNot(6))
	assert.Equal(t, "outside the affinity mask", m.WhyNot(7))
	assert.Equal(t, "outside the cpuset of its cgroup", m.WhyNot(0))
	assert.Equal(t, "not present", m.WhyNot(8))
	assert.Equal(t, "not present", m.WhyNot(-1))

	m.SetAffinity(cpuset.Set{})
	assert.Equal(t, "2-3,6-7", m.Allowed().String(), "without the mask, the cpuset still holds")
	m.SetCgroup(cpuset.Set{})
	assert.Equal(t, "0-7", m.Allowed().String())

	offline := hosts.Machine(t, "offline-middle")
	assert.Equal(t, "offline", offline.WhyNot(5))
	assert.Equal(t, "0-1,3-4,6-7", offline.Allowed().String())
	assert.Equal(t, "1-3", hosts.Machine(t, "fake-numa").Allowed().String(), "a mask known as a bitmap alone")
}

func TestRelation(t *testing.T) {
	epyc := hosts.Machine(t, "epyc-2p-nps4")
	for _, c := range []struct {
		b    int
		want topology.Relation
	}{
		{0, topology.SameCPU},
		{32, topology.SameCore},
		{1, topology.SameLLC},
		{33, topology.SameLLC},
		{2, topology.SameNode},
		{4, topology.CrossNode},
		{16, topology.CrossNode},
		{64, topology.CrossNode}, // does not exist
	} {
		assert.Equal(t, c.want, epyc.Relation(0, c.b), "CPU %d", c.b)
		assert.Equal(t, c.want, epyc.Relation(c.b, 0), "CPU %d", c.b)
	}
	assert.Equal(t, topology.CrossNode, hosts.Machine(t, "snc").Relation(0, 2), "one L3, two memories")
	offline := hosts.Machine(t, "offline-middle")
	assert.Equal(t, topology.CrossNode, offline.Relation(2, 5), "both unknown is not the same core")

	assert.Equal(t, "same-llc", epyc.OnlyRelation([]int{0, 1}))
	assert.Empty(t, epyc.OnlyRelation([]int{0, 1, 33}), "the last two are of one core")
	assert.Empty(t, epyc.OnlyRelation([]int{0}))

	names, err := json.Marshal(topology.Relations)
	require.NoError(t, err)
	assert.JSONEq(t, `["same-cpu","same-core","same-llc","same-node","cross-node"]`, string(names))
}
