package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mayImport is the graph of gorun's packages: which others each may import. A new package needs a row, and a new import a word
// in a row. Each of these is a decision: data flows from the machine to the results, and from these to the views. cmd/gorun
// joins both ends and has no row. Names are without gorun/ and internal/.
const mayImport = `
	apply               catalog cpuset hint launch linux result table
	bind                bytesize child column cpuset experiment hint matrix process render/chart render/term render/view result table
	bytesize            catalog hint
	c2c                 catalog column contend cpuset csrc experiment hint linux measure render/chart render/term render/view result table topology units
	catalog             hint
	cgroup              cpuset lazy sysfs
	cgroup/cgrouptest   tests
	child               hint linux
	column              result units
	command             apply catalog cgroup column cpuset dedicate experiment guardian hint launch lazy linux matrix measure output placement render/view result shell stats table topology units
	contend             catalog column cpuset csrc experiment hint linux measure placement render/chart render/term render/view result stats table topology units
	cpuset
	csrc                hint
	dedicate            cpuset guardian hint linux result subject
	dist
	doctor              cgroup hint linux measure metrics render/term render/view result stats sysfs table topology units
	experiment          bytesize child column cpuset hint input linux matrix render/chart render/term render/view result table topology units
	fleet               catalog column cpuset experiment hint input linux matrix measure metrics placement primes render render/chart render/term render/view report result shell stats table topology units
	futex               column cpuset csrc experiment hint linux matrix measure placement result topology
	gobench             column command experiment guardian hint input launch lazy matrix render/view result shell table units
	guardian            child input linux subject
	hint                lazy
	input               hint linux
	journal             column cpuset hint input lazy matrix result
	launch              child csrc hint input linux perf placement result shell sysfs topology
	lazy
	linux               cgroup cpuset hint sysfs
	linux/linuxtest
	live                apply catalog cgroup column command cpuset experiment guardian hint input launch lazy linux metrics placement render/view result shell stats subject table topology units
	load                child cpuset linux placement process
	matrix              column cpuset hint lazy result shell stats units
	measure             cgroup cpuset linux perf result sysfs topology
	memory              catalog column cpuset csrc experiment hint linux matrix measure placement render/chart render/term render/view result table topology units
	metrics             hint output result shell stats web
	migrate             bytesize catalog column cpuset csrc experiment hint linux matrix measure placement render/view result stats topology units
	numa                bytesize catalog child column cpuset csrc experiment guardian hint linux load matrix measure perf placement render/chart render/term render/view result stats table topology units
	output              hint
	pair                bytesize catalog child column cpuset csrc experiment hint linux matrix measure process render/view result table topology
	perf                hint linux result sysfs topology
	placement           cpuset csrc linux perf sysfs
	primes              catalog column cpuset experiment hint linux measure placement result units
	process             child cpuset csrc hint launch linux placement topology
	process/processtest child cpuset launch linux tests
	render              catalog column cpuset experiment lazy render/chart render/term render/view result shell stats table topology units
	render/chart        column render/term render/view result stats table units
	render/rendertest   cpuset hint render/chart render/term result stats
	render/term         column lazy result stats table units
	render/view         column cpuset lazy render/term result shell stats table units
	report              apply column experiment hint input journal matrix render render/chart render/term render/view result shell table units web
	result              hint lazy stats units
	run                 apply catalog cgroup child column cpuset experiment hint input journal lazy linux matrix measure metrics output placement render render/chart render/term result shell sysfs topology units
	shell               hint
	stats               units
	subject             cgroup cpuset hint lazy linux perf sysfs
	subject/programtest cpuset linux tests
	sysfs               cpuset
	table               column stats units
	tests
	tests/hosts         sysfs topology
	tests/run           linux
	topology            cpuset lazy sysfs
	topology/topologytest cpuset
	units               hint
	web
`

// The imports of gorun's packages, without those of tests, are those of the graph. .depguard.yml has the libraries that each
// package may import.
func TestImports(t *testing.T) {
	module, err := exec.Command("go", "list", "-m").Output()
	require.NoError(t, err)
	root := strings.TrimSpace(string(module)) + "/"
	const line = `{{.ImportPath}} {{join .Imports " "}}`
	out, err := exec.Command("go", "list", "-f", line, root+"...").Output()
	require.NoError(t, err)
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		var ours []string
		for _, path := range strings.Fields(line) {
			if name, ok := strings.CutPrefix(path, root); ok {
				ours = append(ours, strings.TrimPrefix(name, "internal/"))
			}
		}
		slices.Sort(ours[1:])
		imports[ours[0]] = ours[1:]
	}
	delete(imports, "cmd/gorun")
	assert.Equal(t, graph(mayImport), imports, "mayImport is not what the code does")
}

// graph reads a table such as mayImport.
func graph(table string) map[string][]string {
	rows := map[string][]string{}
	for line := range strings.Lines(table) {
		if words := strings.Fields(line); len(words) > 0 {
			slices.Sort(words[1:])
			rows[words[0]] = words[1:]
		}
	}
	return rows
}
