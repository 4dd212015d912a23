package launch

import (
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// hold is the body of asHolder.
func hold(duration string) error {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return err
	}
	memory := make([]byte, touched)
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
	for begun := time.Now(); time.Since(begun) < d; {
		memory[0]++ // so that it is kept
	}
	return nil
}

// looksAtHolder returns what was seen of the memory of a command that holds some, when the look has come late enough.
func looksAtHolder(t *testing.T) (of result.Memory) {
	t.Helper()
	d := 25 * time.Millisecond
	tests.Await(t, "look at the memory of a command", func() bool {
		d *= 2
		c := command(os.Args[0], asHolder, d.String())
		c.Looks = true
		o, err := run(t, c)
		require.NoError(t, err)
		require.Zero(t, o.ExitCode, "%s", o.Stderr)
		if o.Looks.Memory == nil {
			return false
		}
		of = *o.Looks.Memory
		return of.Anonymous >= touched
	})
	return of
}

func TestLooksAtMemory(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		t.Skipf("needs Linux 4.14: %v", err)
	}
	of := looksAtHolder(t)
	assert.LessOrEqual(t, of.Huge, of.Anonymous)
	assert.Less(t, of.Anonymous, uint64(4*touched))
	assert.Equal(t, nodesOfCPUs() != nil, of.Resident > 0, "on a machine with one node, no page can be on another")
}

// TestLooksAtNodes: memory that is bound to the node of the CPU is near, and memory that is bound to another node is not.
func TestLooksAtNodes(t *testing.T) {
	nodes := nodesOfCPUs()
	if nodes == nil {
		t.Skip("needs two nodes: make vm")
	}
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	cpu := allowed.First()
	require.NoError(t, placement.OnThread(func() error {
		if err := linux.SetAffinity(0, cpuset.Of(cpu)); err != nil {
			return err
		}
		own := []looked{{os.Getpid(), []int{linux.Gettid()}}}
		for _, node := range []int{nodes[cpu], 1 - nodes[cpu]} {
			var before, after pages
			before.look(own)
			memory, err := linux.NewArea(linux.AreaOptions{Bytes: touched, Node: node})
			if err != nil {
				return err
			}
			if err := memory.Touch(); err != nil {
				return err
			}
			after.look(own)
			far := int64(after.last.OtherNodes) - int64(before.last.OtherNodes)
			assert.GreaterOrEqual(t, after.last.Resident, uint64(touched))
			assert.InDelta(t, map[bool]int64{true: 0, false: touched}[node == nodes[cpu]], far, touched/2, "node %d", node)
			if err := memory.Free(); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestNodesOfAProcess: what is near depends on the CPUs on which the threads ran.
func TestNodesOfAProcess(t *testing.T) {
	bytes, err := linux.ProcessNodes(os.Getpid())
	if err != nil {
		t.Skipf("needs a kernel with CONFIG_NUMA: %v", err)
	}
	own := looked{os.Getpid(), []int{os.Getpid()}}
	on := func(node int) (of []int) {
		for range 1 << 13 {
			of = append(of, node)
		}
		return of
	}
	for node := range bytes {
		here, _ := own.nodes(on(node))
		assert.Positive(t, here)
	}
	here, there := own.nodes(on(1 << 20))
	assert.Zero(t, here)
	assert.Positive(t, there)
	here, there = own.nodes(nil)
	assert.Zero(t, here+there, "the node of its CPU is not known")
}

func TestReadNodes(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	const node = "sys/devices/system/node/"
	root := fstest.MapFS{
		node + "online": file("0-2"), node + "node0/cpulist": file("0,3"), node + "node1/cpulist": file("1"), node + "node2/cpulist": file(""),
	}
	assert.Equal(t, []int{0, 1, -1, 0}, readNodes(root))
	root[node+"node1/cpulist"] = file("x")
	assert.Nil(t, readNodes(root))
	root[node+"online"] = file("0")
	assert.Nil(t, readNodes(root), "one node")
	assert.Nil(t, readNodes(fstest.MapFS{}), "a kernel without CONFIG_NUMA")
}
