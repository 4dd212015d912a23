package launch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
)

// What the test binary is as a process of these tests; a command follows.
const (
	asSupervisor = SupervisorCommand
	asRunner     = "launch-run"     // Run with everything passed on; it ends as the command does
	asMeasurer   = "launch-measure" // the same, in a process group of its own
	asCommand    = "launch-exec"    // Exec
	asWriter     = "launch-write"   // a mebibyte to stdout and one to stderr, by turns
	asPlaced     = "launch-placed"  // tells what it was started with
	asMover      = "launch-move"    // moves to each of some CPUs in turn
	asCatcher    = "launch-catch"   // tells the signals that it gets, and ends with the last
	asBurner     = "launch-burn"    // uses CPU time, says so, and stays
	asHolder     = "launch-hold"    // holds touched bytes of memory for a time
)

const (
	mebibyte = 1 << 20
	touched  = 32 << 20
	burnt    = 20 * time.Millisecond // the CPU time that asBurner uses
)

func TestMain(m *testing.M) {
	dying = tests.Hang
	switch os.Args[0] {
	case asEnvironment:
		if err := json.NewEncoder(os.Stdout).Encode(os.Environ()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case asParent:
		sh := Self{Path: "/bin/sh", Argv: []string{"sh"}}
		_, err := sh.Ask(context.Background(), []string{"-c", os.Args[1]}, nil, new(any))
		Report(os.Stdout, err)
		os.Exit(0)
	}
	if len(os.Args) < 2 || os.Args[1] != asSupervisor && !strings.HasPrefix(os.Args[1], "launch-") {
		os.Setenv("GORACE", "atexit_sleep_ms=0") // or each process of a -race build stays for a second
		os.Setenv("PATH", "/usr/bin:/bin")       // all of which every user may read
		// If nohup(1) started the tests, processes that they start would ignore SIGHUP too, unless it is caught
		// (execve(2)).
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		os.Exit(m.Run())
	}
	var err error
	switch args := os.Args[2:]; os.Args[1] {
	case asSupervisor:
		err = Supervise(args)
	case asRunner, asMeasurer:
		var o Outcome
		c := command(args...)
		c.PassThrough = os.Args[1] == asRunner
		c.Members[0].Stdin, c.Members[0].Stdout, c.Members[0].Stderr = os.Stdin, os.Stdout, os.Stderr
		if o, err = Run(context.Background(), c); err == nil {
			os.Exit(o.ExitCode)
		}
	case asCommand:
		err = Exec(placement.Setting{}, args, os.Environ())
	case asWriter:
		for i := range mebibyte / 1024 {
			os.Stdout.Write(block('o', i))
			os.Stderr.Write(block('e', i))
		}
	case asPlaced:
		err = tellPlaced()
	case asMover:
		err = move(args)
	case asCatcher:
		catchSignals()
	case asBurner:
		for used := time.Duration(0); used < burnt && err == nil; {
			used, err = linux.ProcessCPUTime(0)
		}
		fmt.Println("burnt")
		time.Sleep(tests.Hang) // it is killed before
	case asHolder:
		err = hold(args[0])
	}
	if e := new(ExitError); errors.As(err, &e) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(e.Code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func block(c byte, i int) []byte {
	return append(bytes.Repeat([]byte{c}, 1016), fmt.Sprintf("%07d\n", i)...)
}

func tellPlaced() error {
	cpus, err1 := linux.GetAffinity(0)
	nice, err2 := linux.GetNice(0)
	sched, err3 := linux.GetSched(0)
	fmt.Printf("CPUs %v, nice %d, %v, GOMAXPROCS %s", cpus, nice, sched, os.Getenv("GOMAXPROCS"))
	if mode, _, err := linux.GetMempolicy(); err == nil {
		fmt.Printf(", memory %v", mode)
	}
	return errors.Join(err1, err2, err3)
}

// command returns a group of one command that is not killed for being slow to end.
func command(argv ...string) Group {
	return Group{
		Self:    Self{Path: "/proc/self/exe", Argv: []string{"gorun"}, Env: os.Environ(), Patience: tests.Hang},
		Members: []Member{{Argv: argv}}, Keep: 2 * mebibyte,
	}
}

// on returns a group whose first member may use these CPUs.
func (c Group) on(cpus cpuset.Set) Group {
	c.Members[0].Setting.CPUs = cpus
	return c
}

func run(t *testing.T, c Group) (Outcome, error) {
	t.Helper()
	return Run(t.Context(), c)
}

func sh(script string, args ...string) []string {
	return append([]string{"/bin/sh", "-c", script}, args...)
}

// Ways of starting a command from a shell: Exec and Run; and those in which the terminal and signals are the command's.
var (
	ways        = []string{asCommand, asRunner, asMeasurer}
	interactive = []string{asCommand, asRunner}
)

// each runs a test with each of some ways.
func each(t *testing.T, ways []string, test func(t *testing.T, as string)) {
	for _, as := range ways {
		t.Run(as, func(t *testing.T) { test(t, as) })
	}
}

// self makes the test binary one of its processes.
func self(as string, argv ...string) *exec.Cmd {
	return exec.Command(os.Args[0], append([]string{as}, argv...)...)
}

// The exit codes are compared with those of env(1) for the same commands.
func TestExitCodesAreThoseOfEnv(t *testing.T) {
	dir := t.TempDir()
	plain, bare := filepath.Join(dir, "plain"), filepath.Join(dir, "bare")
	lost := filepath.Join(dir, "lost")
	require.NoError(t, os.WriteFile(plain, []byte("exit 0\n"), 0o644))
	require.NoError(t, os.WriteFile(bare, []byte("exit 9\n"), 0o755)) // a script without #!
	require.NoError(t, os.WriteFile(lost, []byte("#!/no/such/shell\n"), 0o755))
	codes := map[int][][]string{
		0:   {{"true"}},
		3:   {sh("exit 3")},
		9:   {{bare}},
		126: {{plain}, {dir}, {"/etc/passwd/x"}},
		127: {{"no-such-command"}, {dir + "/none"}, {lost}, {""}},
	}
	for want, argvs := range codes {
		for _, argv := range argvs {
			assert.Equal(t, want, code(exec.Command("env", argv...).Run()), "env %q", argv)
		}
	}
	each(t, ways, func(t *testing.T, as string) {
		t.Parallel()
		for want, argvs := range codes {
			for _, argv := range argvs {
				assert.Equal(t, want, code(self(as, argv...).Run()), "%q", argv)
			}
		}
		cmd := self(as, "no-such-command")
		said, err := cmd.CombinedOutput()
		assert.Equal(t, 127, code(err))
		assert.Equal(t, "run \"no-such-command\": no such command in PATH\n", string(said))
	})
}

// code returns the exit code as in a shell.
func code(err error) int {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	status := exit.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

func TestPathIsSearchedAsExecvpDoes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "first"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "second"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "first", "tool"), nil, 0o644)) // cannot be run: go on
	require.NoError(t, os.WriteFile(filepath.Join(dir, "second", "tool"), nil, 0o755))
	env := []string{"PATH=/none:" + dir + "/first:" + dir + "/second"}
	path, err := find([]string{"tool"}, env)
	require.NoError(t, err)
	assert.Equal(t, dir+"/second/tool", path)

	// A directory is no command, and the shell's own "." is in each directory.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "first", "folder"), 0o755))
	for _, name := range []string{"folder", "."} {
		_, err = find([]string{name}, []string{"PATH=" + dir + "/first"})
		assert.ErrorContains(t, err, "no such command in PATH", name)
	}

	_, err = find([]string{"tool"}, []string{"PATH=/none:" + dir + "/first"})
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, ExitCannot, exit.Code)

	path, err = find([]string{"sh"}, nil)
	require.NoError(t, err)
	assert.Equal(t, "/bin/sh", path)

	t.Chdir(dir + "/second")
	path, err = find([]string{"tool"}, []string{"PATH=/none:"})
	require.NoError(t, err)
	assert.Equal(t, "./tool", path)

	_, err = find(nil, nil)
	assert.ErrorContains(t, err, "no command")
}

// The hint for a command that is not found is about the reason.
func TestWhyNotFound(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("tool", nil, 0o755))
	require.NoError(t, os.WriteFile("ulimit", nil, 0o755))
	require.NoError(t, os.WriteFile("data", nil, 0o644))
	require.NoError(t, os.Mkdir("type", 0o755))
	for name, want := range map[string]string{
		"tool": "write ./tool ", "ulimit": "write ./ulimit ", "data": "a program outside PATH", "nosuch": "a program outside PATH",
		"cd": "cd is a builtin of the shell", "type": "type is a builtin of the shell", "source": "source is a builtin of bash",
		"sleep 1": "use --command 'sleep 1'", "sleep 1; true": "it is --shell --command 'sleep 1; true'",
	} {
		_, err := find([]string{name}, []string{"PATH=/none"})
		assert.Contains(t, hint.Of(err), want, name)
	}
}

// What the kernel does not find for a file that exists is not the file.
func TestMissingInterpreter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script")
	for head, want := range map[string]string{
		"#!/no/such/shell\n": `its interpreter "/no/such/shell" does not exist`,
		"#! \t/bin/sh\r\n":   `its interpreter "/bin/sh\r" does not exist`,
		"#!/no/env\tsh -x":   `its interpreter "/no/env" does not exist`,
		"\x7fELF":            "the loader that it names does not exist",
	} {
		require.NoError(t, os.WriteFile(path, []byte(head), 0o755))
		err := runError(path, syscall.ENOENT)
		assert.ErrorContains(t, err, want, "%q", head)
		assert.Equal(t, ExitNotFound, err.(*ExitError).Code)
	}
	assert.ErrorContains(t, runError(path+"2", syscall.ENOENT), "no such file or directory")
	assert.ErrorContains(t, runnable(filepath.Dir(path)), "is a directory")
}

func TestOutcome(t *testing.T) {
	o, err := run(t, command(sh("echo out; echo err >&2; kill -TERM $$")...))
	require.NoError(t, err)
	assert.Equal(t, 128+15, o.ExitCode)
	assert.Equal(t, 15, o.Signal)
	assert.Equal(t, "out\n", string(o.Stdout))
	assert.Equal(t, "err\n", string(o.Stderr))
	assert.Positive(t, o.WallSeconds)
	assert.Positive(t, o.MinorFaults)
	assert.Positive(t, o.MaxRSSBytes)
	assert.Positive(t, o.MaxRSSFloorBytes)
	assert.Zero(t, o.Killed)
	assert.False(t, o.TimedOut)
	assert.Nil(t, o.Migrations(nil), "they are not counted unless that is asked for")

	// The usage of descendants counts, even if the command does not wait for them.
	said := filepath.Join(t.TempDir(), "said")
	require.NoError(t, syscall.Mkfifo(said, 0o600))
	o, err = run(t, command(sh(`"$0" "$1" >"$2" & read x <"$2"`, os.Args[0], asBurner, said)...))
	require.NoError(t, err)
	assert.Zero(t, o.ExitCode)
	assert.Equal(t, 1, o.Killed)
	assert.GreaterOrEqual(t, o.UserSeconds+o.SystemSeconds, (burnt - time.Millisecond).Seconds(), "of two clocks")
}

func TestOnlyTheEndIsKept(t *testing.T) {
	c := command(sh("echo 97; echo 98; echo 99")...)
	c.Keep = 6
	o, err := run(t, c)
	require.NoError(t, err)
	assert.Equal(t, "98\n99\n", string(o.Stdout))
	assert.Empty(t, o.Stderr)
}

// A file in memory is emptied when it is larger than what is kept, and what it has then is known not to be all.
func TestOutputInMemory(t *testing.T) {
	c := command(sh("echo emptied; echo 1 >/dev/stdout; echo err >&2; echo 2")...)
	c.InMemory = true
	o, err := run(t, c)
	require.NoError(t, err)
	assert.Equal(t, "1\n2\n", string(o.Stdout), "without a hole")
	assert.Equal(t, "err\n", string(o.Stderr))
	assert.False(t, o.Lost)

	c.Keep = 6
	c.Members[0].Argv = sh("seq 96; while [ $(stat -L -c %s /proc/$$/fd/1) != 0 ]; do sleep 0.01; done; printf '98\\n99\\n'")
	o, err = run(t, c)
	require.NoError(t, err)
	assert.Equal(t, "98\n99\n", string(o.Stdout))
	assert.True(t, o.Lost)

	c.Members[0].Argv = []string{"seq", "96"} // it hardly ever lasts until its file is emptied
	o, err = run(t, c)
	require.NoError(t, err)
	assert.True(t, o.Lost)
}

// A reader of the shown output that exits is noticed.
func TestShownOutputWithoutAReader(t *testing.T) {
	from, to, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, from.Close())
	c := command("yes")
	c.Members[0].Stdout = to
	o, err := run(t, c)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	assert.NotZero(t, o.ExitCode, "it would go on for ever")
}

func TestArgumentsAndEnvironmentArrive(t *testing.T) {
	each(t, ways, func(t *testing.T, as string) {
		cmd := self(as, "printf", `<%s>`, "", "a b", "*", "-x", "--", "ö\n", "")
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		out, err := cmd.Output()
		require.NoError(t, err)
		assert.Equal(t, "<><a b><*><-x><--><ö\n><>", string(out))

		cmd = self(as, "/usr/bin/env")
		cmd.Env = []string{"A=1", "EMPTY=", "B=x y"}
		out, err = cmd.Output()
		require.NoError(t, err)
		assert.Equal(t, "A=1\nEMPTY=\nB=x y\n", string(out))
	})
}

func TestInputAndOutputArriveWhole(t *testing.T) {
	each(t, ways, func(t *testing.T, as string) {
		cmd := self(as, os.Args[0], asWriter)
		var out, err bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &err
		require.NoError(t, cmd.Run())
		for c, got := range map[byte][]byte{'o': out.Bytes(), 'e': err.Bytes()} {
			require.Len(t, got, mebibyte)
			for i := range mebibyte / 1024 {
				require.Equal(t, string(block(c, i)), string(got[i*1024:(i+1)*1024]))
			}
		}

		cmd = self(as, "cat")
		cmd.Stdin = bytes.NewReader(out.Bytes())
		got, readErr := cmd.Output()
		require.NoError(t, readErr)
		assert.True(t, bytes.Equal(out.Bytes(), got))

		got, readErr = exec.Command("/bin/sh", "-c", `exec "$0" "$1" cat <&-`, os.Args[0], as).Output()
		require.NoError(t, readErr, "a closed stdin has nothing to read")
		assert.Empty(t, got)
	})
}

// As with make's jobserver, whose descriptors are 3 and 4: the command has the same descriptors as without gorun.
func TestInheritedDescriptorsArrive(t *testing.T) {
	const list = `cat <&3; cat <&9; ls /proc/self/fd`
	const open = ` 3<<A 9<<B
three
A
nine
B
`
	want, err := exec.Command("/bin/sh", "-c", "/bin/sh -c '"+list+"'"+open).CombinedOutput()
	require.NoError(t, err, string(want))
	require.True(t, strings.HasPrefix(string(want), "three\nnine\n"), string(want))
	each(t, ways, func(t *testing.T, as string) {
		script := `"$0" "$1" /bin/sh -c '` + list + "'" + open
		out, err := exec.Command("/bin/sh", "-c", script, os.Args[0], as).CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Equal(t, string(want), string(out))
	})
}

// Inherited descriptors keep their numbers, and none is below the number that it gets.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		open := rapid.SliceOfNDistinct(rapid.IntRange(3, 12), 1, 10, rapid.ID).Draw(t, "open")
		own, inherited := open[0], open[1:]
		files, number := layout(0, uintptr(own), inherited)
		require.NotContains(t, inherited, number)
		require.LessOrEqual(t, number, own)
		require.Equal(t, own, int(files[number]))
		for at := 3; at < number; at++ {
			require.Equal(t, at, int(files[at]))
		}
	})
}

// A shell may lower the limit on open files below a descriptor that it passes on.
func TestInheritedDescriptorAboveTheLimit(t *testing.T) {
	tests.Tools(t, "bash")
	each(t, ways, func(t *testing.T, as string) {
		const script = `ulimit -n 24; "$0" "$1" cat <&200`
		cmd := exec.Command("bash", "-c", "exec 200<<<hello; "+script, os.Args[0], as)
		cmd.Env = append(os.Environ(), "LC_ALL=C") // bash warns of a locale that there is not
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Equal(t, "hello\n", string(out))
	})
}

// reader reads the lines of a process, and the end of the pipe: when all writers have ended.
type reader struct {
	*bufio.Reader
	file *os.File
}

// begin starts a process with its own pipe for its output, and waits until it prints "ready".
func begin(t *testing.T, cmd *exec.Cmd) reader {
	t.Helper()
	from, to, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { from.Close() })
	cmd.Stdout = to
	require.NoError(t, cmd.Start())
	to.Close()
	require.NoError(t, from.SetReadDeadline(time.Now().Add(tests.Hang)))
	r := reader{bufio.NewReader(from), from}
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return r
}

// rest returns the output until all writers have closed the pipe.
func (r reader) rest(t *testing.T) string {
	t.Helper()
	text, err := io.ReadAll(r)
	require.NoError(t, err, "somebody is still there")
	return string(text)
}

// family is a command with a child, one in its own session, and an orphan; all of them ignore all signals that can be
// ignored.
const family = `trap '' HUP INT TERM; sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &); `

func TestTheSettingIsTheCommands(t *testing.T) {
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	cpu, nice := cpuset.Of(cpus.Last()), 19
	t.Setenv("GOMAXPROCS", "2") // of two values, a Go program takes the first
	c := command(os.Args[0], asPlaced).on(cpu)
	c.Members[0].Setting.Nice, c.Members[0].Setting.Sched, c.Members[0].Setting.GOMAXPROCS = &nice, &linux.Sched{Policy: linux.SchedBatch}, 3
	want, checks := fmt.Sprintf("CPUs %v, nice 19, batch, GOMAXPROCS 3", cpu), 3
	if mode, _, err := linux.GetMempolicy(); err == nil {
		if linux.HaveMempolicy(linux.MempolicyLocal) == nil {
			mode, checks = linux.MempolicyLocal, checks+1
			c.Members[0].Setting.Mempolicy = mode
		}
		want += fmt.Sprintf(", memory %v", mode)
	}
	o, err := run(t, c)
	require.NoError(t, err)
	assert.Equal(t, want, string(o.Stdout))
	assert.GreaterOrEqual(t, o.Checked, checks)
	assert.Empty(t, o.Mismatches)
	assert.Empty(t, o.Changed)

	after, err := linux.GetAffinity(0)
	require.NoError(t, err)
	assert.True(t, after.Equal(cpus), "the setting is not ours")
}

func TestWhatTheKernelRefusesOrChanges(t *testing.T) {
	_, err := run(t, command("true").on(cpuset.Of(cpuset.Max)))
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, ExitRefused, exit.Code)
	assert.ErrorContains(t, err, "set the affinity to CPUs 65535")
	assert.Contains(t, hint.Of(err), "none of these CPUs is online")

	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	o, err := run(t, command("true").on(cpus.With(cpuset.Max)))
	require.NoError(t, err)
	require.Len(t, o.Mismatches, 1)
	assert.Contains(t, o.Mismatches[0], "the kernel answers CPUs "+cpus.String())
}

func TestSuperviseOfNoUse(t *testing.T) {
	for _, args := range [][]string{nil, {"x"}, {"98"}, {"3", "4"}} {
		assert.Error(t, Supervise(args), args)
	}
	_, err := run(t, command())
	assert.ErrorContains(t, err, "no command")
	_, err = Run(t.Context(), Group{Self: Self{Path: "/none", Argv: []string{"gorun"}}, Members: []Member{{Argv: []string{"true"}}}})
	assert.ErrorContains(t, err, "start /none")
}

// A lasting supervisor changes to the folder of each command.
func TestLastingInFolders(t *testing.T) {
	var lasting Lasting
	defer lasting.Close()
	supervisors := map[string]bool{}
	for range 2 {
		c := command(sh("pwd -P; echo $PPID")...)
		c.Lasting, c.Dir = &lasting, t.TempDir()
		o, err := run(t, c)
		require.NoError(t, err)
		folder, supervisor, _ := strings.Cut(string(o.Stdout), "\n")
		assert.Equal(t, c.Dir, folder)
		supervisors[supervisor] = true
	}
	assert.Len(t, supervisors, 1)
	c := command("true")
	c.Lasting, c.Dir = &lasting, "/none"
	_, err := run(t, c)
	require.ErrorContains(t, err, "chdir /none: no such file or directory")
}

// A lasting supervisor runs the next command too, with its own setting and input, unless it was killed or was placed
// otherwise.
func TestLasting(t *testing.T) {
	tests.Tools(t, "chrt")
	var lasting Lasting
	defer lasting.Close()
	cpus := tests.CPUs(t, 2)
	supervisor := func(script string, cpus ...int) string {
		c := command(sh(script + "echo $PPID")...).on(cpuset.Of(cpus...))
		c.Lasting = &lasting
		o, err := run(t, c)
		require.NoError(t, err)
		assert.Empty(t, o.Mismatches)
		return string(o.Stdout)
	}
	first := supervisor("", cpus[0])
	before := lasting.unwaited()
	assert.Positive(t, before)
	assert.Equal(t, first, supervisor(family, cpus[1]))
	assert.Greater(t, lasting.unwaited(), before)

	assert.Equal(t, first, supervisor("chrt --batch --pid 0 $PPID >/dev/null; "))
	second := supervisor("")
	assert.NotEqual(t, first, second)

	c := command(sh("kill -KILL $PPID; sleep 1000")...)
	c.Lasting = &lasting
	_, err := run(t, c)
	require.ErrorContains(t, err, "without an answer")
	assert.Zero(t, lasting.unwaited())
	third := supervisor("")
	assert.NotEqual(t, second, third)
	require.NoError(t, syscall.Kill(lasting.idle.pid, syscall.SIGKILL))
	require.NoError(t, linux.AwaitEnd(lasting.idle.pid))
	assert.NotEqual(t, third, supervisor(""), "one that was killed between two commands costs no sample")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c = command("sleep", "1000")
	c.Lasting = &lasting
	o, err := Run(ctx, c)
	require.NoError(t, err)
	assert.Equal(t, 15, o.Signal)
	c.Members[0].Argv = []string{"true"}
	c.Lasting.idle.signal(syscall.SIGTERM) // too late
	o, err = run(t, c)
	require.NoError(t, err)
	assert.Zero(t, o.Signal)
}

// A setting that a command changes itself is reported as such.
func TestTheCommandIsWatched(t *testing.T) {
	cpus := tests.CPUs(t, 2)
	tests.Tools(t, "taskset")
	m := placement.Mismatch{What: "CPUs", Asked: strconv.Itoa(cpus[0]), Got: strconv.Itoa(cpus[1])}
	o, err := run(t, command("taskset", "-c", m.Got, "true").on(cpuset.Of(cpus[0])))
	require.NoError(t, err)
	assert.Empty(t, o.Mismatches)
	assert.Equal(t, []string{changedItself + m.Error()}, o.Changed)
}

const changedItself = "the command changed its own affinity, unless another program did: "

// A change that the command cannot have made, because it did not run or because the CPUs of gorun itself have changed, is a
// mismatch.
func TestReadBack(t *testing.T) {
	cpus := tests.CPUs(t, 2)
	allowed, err := linux.GetAffinity(os.Getpid())
	require.NoError(t, err)
	sleeps := exec.Command("sleep", "1000")
	require.NoError(t, sleeps.Start())
	defer func() {
		_ = sleeps.Process.Kill()
		_ = sleeps.Wait()
	}()
	pid := sleeps.Process.Pid
	m := placement.Mismatch{What: "CPUs", Asked: strconv.Itoa(cpus[0]), Got: strconv.Itoa(cpus[1])}
	mismatches := []string{m.Error()}
	for _, c := range []struct {
		free, machine bool // the command may change its setting; the CPUs of gorun change
		want          Outcome
	}{
		{true, false, Outcome{Changed: []string{changedItself + m.Error()}}},
		{true, true, Outcome{Mismatches: mismatches}},
		{false, false, Outcome{Mismatches: mismatches}},
	} {
		asked := placement.Setting{CPUs: cpuset.Of(cpus[0])}
		require.NoError(t, linux.SetAffinity(pid, asked.CPUs))
		machine := placement.WatchMachine(nil)
		of := &process{monitor: placement.Compare(placement.Thread{TID: pid, Setting: asked, Free: c.free})}
		require.NoError(t, linux.SetAffinity(pid, cpuset.Of(cpus[1])))
		if c.machine {
			require.NoError(t, linux.SetAffinity(os.Getpid(), cpuset.Of(cpus[0])))
		}
		var o Outcome
		o.readBack(of)
		_, changes := machine.End()
		o.ownChanges(of, len(changes) > 0)
		require.NoError(t, linux.SetAffinity(os.Getpid(), allowed))
		assert.Equal(t, 2, o.Checked)
		o.Checked = 0
		assert.Equal(t, c.want, o)
	}
}
