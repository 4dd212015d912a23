package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cgroup/cgrouptest"
)

// refused runs gorun after these words of a shell and returns its stderr. The exit code must be 1.
func refused(t *testing.T, before string, args ...string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", before + ` exec "$0" "$@"`, asGorun(t)}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	exit := new(exec.ExitError)
	require.True(t, errors.As(err, &exit), "%v\n%s", err, &stderr)
	assert.Equal(t, exitFailed, exit.ExitCode(), &stderr)
	return stderr.String()
}

// asGorun returns a path with which this test binary runs as gorun: see TestMain.
func asGorun(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "gorun")
	require.NoError(t, os.Symlink(self, name))
	return name
}

// join returns the words with which a shell joins a control group.
func join(group string) string { return "echo $$ > " + group + "/cgroup.procs;" }

// A command that starts processes refuses to start more than the control group allows.
func TestFewProcesses(t *testing.T) {
	group := cgrouptest.Limited(t, "pids", 20)
	cpu := strconv.Itoa(allowed(t).First())
	for _, args := range [][]string{
		{"pair", cpu, cpu, "1000"},
		{"numa", "--mem", "float", "--cpu", "float,0", "--load", "0", "--buffer", "64KiB", "--numa-balancing", "keep"},
		{"bind", "--processes", "3"},
		{"exec", "--copies", "1,9", "--", "true"},
	} {
		stderr := refused(t, join(group), args...)
		assert.Regexp(t, `gorun: error: `+group+`/pids.max leaves room for \d+ of the \d+ threads that are needed\n`,
			stderr, args)
		assert.Regexp(t, `gorun: hint: as root: echo \d+ > `+group+`/pids.max`, stderr, args)
	}
}

// A command that needs more memory than there is refuses to start, before the kernel kills it.
func TestLittleMemory(t *testing.T) {
	group := cgrouptest.Limited(t, "memory", 64<<20)
	stderr := refused(t, join(group), "primes", "--workers", "5000000")
	assert.Regexp(t, `gorun: error: .*`+group+`/memory.* leaves room for \d+ of the 800\d{6} bytes that are needed`, stderr)
	assert.Contains(t, stderr, "; or give fewer --workers\n")
	stderr = refused(t, join(group), "numa", "--mem", "float", "--cpu", "float", "--load", "0", "--buffer", "256MiB")
	assert.Regexp(t, ` leaves room for \d+ of the 27\d{7} bytes that are needed`, stderr)
}

// A nice value that the kernel refuses is an error before anything is measured, as in other experiments.
func TestRefusedNice(t *testing.T) {
	before := ""
	if os.Geteuid() == 0 {
		tests.Tools(t, "setpriv")
		before = `exec setpriv --bounding-set -sys_nice --inh-caps -sys_nice "$0" "$@";`
	}
	for _, load := range []string{"0", "10"} {
		stderr := refused(t, before, "numa", "--mem", "float", "--cpu", "float", "--numa-balancing", "keep", "--load", load,
			"--buffer", "64KiB", "--accesses", "1000", "--samples", "1", "--nice", "-5")
		assert.Contains(t, stderr, "gorun: error: set nice -5", "--load %s", load)
		assert.Contains(t, stderr, "nice -5 needs CAP_SYS_NICE", "--load %s", load)
	}
}
