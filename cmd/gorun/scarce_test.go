package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cgroup/cgrouptest"
	"gorun/internal/kernel/linux"
)

// limited are commands in addition to commandsTried, which start processes and change what they put back. $PID is a program of the
// same user, and $LOAD one that prints figures.
var limited = []struct{ name, args string }{
	{"exec --copies", "exec --copies 2 -- /bin/true"},
	{"exec --metric", "exec --placements unbound,one-cpu --samples 1 --metric ([0-9]+) --better lower $JSON -- /bin/echo 5"},
	{"exec --dedicate", "exec --dedicate $CPU -- /bin/true"},
	{"ab", "ab --samples 2 --warmup 0 $JSON /bin/true /bin/true"},
	{"live", "live --pid $PID --vary placement=as-is,one-cpu --metric (.*) --better higher --load $LOAD --block 50ms --washout 10ms --samples 2 $JSON"},
	{"fleet node", "fleet node --out $DIR --budget 1s"},
	{"--metrics-listen", "primes $PRIMES --metrics-listen 127.0.0.1:0"},
}

// steps returns the numbers from the first to the last.
func steps(from, to, by uint64) (all []uint64) {
	for n := from; n <= to; n += by {
		all = append(all, n)
	}
	return all
}

// scarce are limits, by what an error says of each, with values from too few for anything to enough for most commands. At fewer
// than 4 open files, programs cannot load their libraries.
var scarce = []struct {
	name, word string
	values     []uint64
}{
	{"RLIMIT_NOFILE", "RLIMIT_NOFILE", steps(4, 24, 1)},
	{"RLIMIT_NPROC", "RLIMIT_NPROC", steps(1, 40, 1)},
	{"RLIMIT_AS", "RLIMIT_AS", steps(64<<20, 3<<30, 64<<20)},
	{"pids.max", "pids.max", steps(1, 40, 1)},
}

// Under each small limit a command runs, or its one error names the limit. Nothing that it has moved, no process, and no temporary
// file is left.
func TestLiveScarce(t *testing.T) {
	if !tests.Runs("scarce-test") {
		tests.Live(t)
	}
	tests.Root(t)
	tests.Tools(t, "setpriv", "prlimit")
	tests.CPUs(t, 2)
	b := newBench(t)
	load := filepath.Join(b.dir, "load")
	require.NoError(t, os.WriteFile(load, []byte("#!/bin/sh\nwhile echo 5; do sleep 0.01; done\n"), 0o755))
	commands := slices.DeleteFunc(slices.Concat(commandsTried, limited), func(c struct{ name, args string }) bool {
		return strings.Contains(c.args, "--nice -5") || strings.Contains(c.args, "--sched fifo") // which need a privilege
	})
	counts := map[string]int{}
	for kind, limit := range scarce {
		t.Run(limit.name, func(t *testing.T) {
			if raced && limit.name == "RLIMIT_AS" {
				t.Skip("needs a build without the race detector, which reserves terabytes of address space")
			}
			group := ""
			if limit.name == "pids.max" {
				group = cgrouptest.Limited(t, "pids", -1)
			}
			for i, command := range commands {
				for _, value := range limit.values {
					h := fnv.New32a()
					fmt.Fprint(h, command.args, limit.name, value)
					if !tests.Runs("scarce-test") && h.Sum32()%150 != 0 {
						continue
					}
					user := somebody + 1000 + kind*len(commands) + i // the kernel counts threads by user
					args := strings.ReplaceAll(command.args, "$LOAD", load)
					counts[b.scarcely(t, fmt.Sprintf("%s at %s %d", command.name, limit.name, value), args, limit.word, value, group, user)]++
				}
			}
		})
	}
	t.Logf("%d ran, %d were refused", counts["ran"], counts["refused"])
}

// scarcely runs a command line as a user under a limit, whose error must contain word, and returns how it went. Without a group, it is a
// limit of the process.
func (b *bench) scarcely(t *testing.T, what, args, word string, value uint64, group string, user int) (went string) {
	t.Helper()
	work, err := os.MkdirTemp(b.dir, "work")
	require.NoError(t, err)
	defer os.RemoveAll(work)
	temporary := filepath.Join(work, "temporary")
	require.NoError(t, os.Mkdir(temporary, 0o777))
	require.NoError(t, os.Chmod(work, 0o777))
	require.NoError(t, os.Chmod(temporary, 0o777))

	program := exec.Command("cat")
	held, err := program.StdinPipe() // it ends with this process
	require.NoError(t, err)
	program.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	require.NoError(t, program.Start())
	defer func() {
		held.Close()
		assert.NoError(t, program.Wait())
	}()
	before := settings(t, program.Process.Pid)

	limit := strings.ToLower(strings.TrimPrefix(word, "RLIMIT_"))
	become := []string{"setpriv", "--reuid", strconv.Itoa(user), "--regid", strconv.Itoa(user), "--clear-groups"}
	if group == "" {
		become = append(become, "prlimit", fmt.Sprintf("--%s=%d", limit, value))
	} else {
		become = append([]string{"sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, group}, become...)
		require.NoError(t, os.WriteFile(filepath.Join(group, "pids.max"), []byte(strconv.FormatUint(value, 10)), 0))
	}
	line := b.line(strings.ReplaceAll(args, "$PID", strconv.Itoa(program.Process.Pid)), work)
	var stdout, stderr bytes.Buffer
	run := func() (o outcome) {
		ctx, cancel := context.WithTimeout(t.Context(), tests.Hang)
		defer cancel()
		argv := slices.Concat(become, []string{b.gorun}, line)
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = work, append(os.Environ(), "TMPDIR="+temporary, "XDG_RUNTIME_DIR="+temporary, "HOME="+temporary)
		stdout.Reset()
		stderr.Reset()
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err = cmd.Run()
		require.NoError(t, ctx.Err(), "%s did not end: %s", what, &stderr)
		return outcomeOf(stdout.Bytes(), stderr.String())
	}
	o := run()
	if strings.Contains(o.said, "holds the lock") { // another test takes a CPU
		tests.Await(t, "end of another process that takes a CPU", func() bool { o = run(); return !strings.Contains(o.said, "holds the lock") })
	}
	if strings.Contains(o.said, "Cannot fork") { // as the load says, which is refused a process itself
		o = outcome{}
		err = nil
	}
	went = "ran"
	switch {
	case strings.Contains(stderr.String(), "error while loading shared libraries"): // before gorun begins
		return "refused"
	case !o.failed:
		assert.True(t, err == nil || strings.HasPrefix(args, "doctor"), "%s: %v: %s", what, err, &stderr)
	case strings.HasPrefix(args, "fleet node") && strings.Contains(stdout.String(), "the budget ended"): // on a slow machine
	default:
		went = "refused"
		assert.Contains(t, o.said+stdout.String(), word, what) // gorun fleet node prints reasons in its table
	}
	assert.Empty(t, o.wrong, what)

	// Processes of a gorun that was refused a thread put things back after its end.
	var left []string
	tests.Await(t, "end of the processes of "+what, func() bool {
		left = processesOf(t, user)
		return len(left) == 1
	})
	assert.Equal(t, before, settings(t, program.Process.Pid), "%s: the program's settings", what)
	files, err := os.ReadDir(temporary)
	require.NoError(t, err)
	if len(files) > 0 && strings.Contains(o.said, "refuses another thread") { // that ends a process at once, also before its guardian runs
		cmd := exec.Command("setpriv", "--reuid", strconv.Itoa(user), "--clear-groups", b.gorun, "exec", "--restore")
		cmd.Env = append(os.Environ(), "TMPDIR="+temporary, "XDG_RUNTIME_DIR="+temporary)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", what, out)
		_ = os.Remove(filepath.Join(temporary, "gorun")) // made by a process that ended before it could use it
		files, err = os.ReadDir(temporary)
		require.NoError(t, err)
	}
	assert.Empty(t, files, "%s: temporary files", what)
	return went
}

// settings returns what gorun may change of a process with one thread.
func settings(t *testing.T, pid int) string {
	t.Helper()
	cpus, err := linux.GetAffinity(pid)
	require.NoError(t, err)
	nice, err := linux.GetNice(pid)
	require.NoError(t, err)
	return fmt.Sprintf("CPUs %s, nice %d", cpus, nice)
}

// processesOf returns the command lines of a user's processes that have not ended.
func processesOf(t *testing.T, user int) (lines []string) {
	t.Helper()
	all, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, entry := range all {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !tests.Alive(pid) {
			continue
		}
		info, err := os.Stat("/proc/" + entry.Name())
		if err == nil && info.Sys().(*syscall.Stat_t).Uid == uint32(user) {
			line, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
			lines = append(lines, string(line))
		}
	}
	return lines
}
