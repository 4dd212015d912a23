package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hello is the least program of Go with cgo.
const hello = `package main

import "C"
import "fmt"

func main() { fmt.Println("hello") }
`

// startsInARound is the number of starts of each program in a round, each of which takes some milliseconds.
const startsInARound = 20

// BenchmarkStart compares the start of gorun, by gorun version, with that of hello, in turn. Each sample of a matrix starts a
// gorun, and so does each execution of a command that has a placement.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(dir, "hello.go"), []byte(hello), 0o600))
	build := exec.Command("go", "build", "hello.go")
	build.Dir = dir
	out, err := build.CombinedOutput()
	require.NoError(b, err, "%s", out)
	programs := [...]struct {
		name         string
		argv         []string
		wall, faults []float64
	}{
		{name: "gorun", argv: []string{built(b), "version"}},
		{name: "hello", argv: []string{filepath.Join(dir, "hello")}},
	}
	for b.Loop() {
		for range startsInARound {
			for i := range programs {
				p := &programs[i]
				cmd := exec.Command(p.argv[0], p.argv[1:]...)
				begun := time.Now()
				require.NoError(b, cmd.Run())
				p.wall = append(p.wall, 1e3*time.Since(begun).Seconds())
				p.faults = append(p.faults, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Minflt))
			}
		}
	}
	for _, p := range programs {
		b.ReportMetric(middle(p.wall), "ms/"+p.name)
		b.ReportMetric(middle(p.faults), "faults/"+p.name)
	}
	b.ReportMetric(middle(programs[0].wall)/middle(programs[1].wall), "ratio")
	b.ReportMetric(0, "ns/op")
}
