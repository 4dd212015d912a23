package launch

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
)

// caught are signals that are passed on to a command.
var caught = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// catchSignals is the body of asCatcher.
func catchSignals() {
	signals := make(chan os.Signal, len(caught))
	signal.Notify(signals, caught...)
	fmt.Println("ready")
	for range caught {
		fmt.Println(<-signals)
	}
	os.Exit(7)
}

func TestSignalsArePassedOn(t *testing.T) {
	each(t, interactive, func(t *testing.T, as string) {
		cmd := self(as, os.Args[0], asCatcher)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal: nobody but us sends signals
		r := begin(t, cmd)
		for _, s := range caught {
			require.NoError(t, cmd.Process.Signal(s))
			line, err := r.ReadString('\n')
			require.NoError(t, err)
			assert.Equal(t, s.String()+"\n", line)
		}
		assert.Empty(t, r.rest(t))
		assert.Equal(t, 7, code(cmd.Wait()))
	})
}

// Signals that were ignored before gorun stay ignored, as with nohup.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	each(t, ways, func(t *testing.T, as string) {
		out, err := exec.Command("/bin/sh", "-c", `trap '' HUP; exec "$0" "$1" /bin/sh -c 'kill -HUP $$; echo alive'`,
			os.Args[0], as).Output()
		require.NoError(t, err)
		assert.Equal(t, "alive\n", string(out))
	})
}

func TestStoppedAndContinued(t *testing.T) {
	cmd := self(asRunner, sh("echo ready; echo $$; exec cat")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	r := begin(t, cmd)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTSTP))
	var status syscall.WaitStatus
	_, err = syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
	tests.Await(t, "stop", func() bool { return tests.State(pid) == 'T' })
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	_, err = in.Write([]byte("over\n"))
	require.NoError(t, err)
	require.NoError(t, in.Close())
	assert.Equal(t, "over\n", r.rest(t), "a stopped command would not read it")
	assert.Zero(t, code(cmd.Wait()))
}

func TestNobodyOutlivesAKilledGorun(t *testing.T) {
	for _, as := range []string{asRunner, asMeasurer} {
		t.Run(as, func(t *testing.T) {
			for _, session := range []bool{false, true} {
				cmd := self(as, sh(family+"echo ready; sleep 1000")...)
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session, Setpgid: !session}
				r := begin(t, cmd)
				require.NoError(t, cmd.Process.Kill())
				assert.Empty(t, r.rest(t))
				_ = cmd.Wait()
			}
		})
	}
}

func TestNobodyOutlivesTheCommand(t *testing.T) {
	r := begin(t, self(asRunner, sh(family+"echo ready; exit 4")...))
	assert.Empty(t, r.rest(t))

	o, err := run(t, command(sh(family+"exit 4")...))
	require.NoError(t, err)
	assert.Equal(t, 4, o.ExitCode)
	assert.GreaterOrEqual(t, o.Killed, 3)
	assert.Empty(t, o.Left)
}

func TestNobodyOfTheGroupOutlivesAKilledSupervisor(t *testing.T) {
	r := begin(t, self(asMeasurer, sh("echo ready; sleep 1000 & kill -KILL $PPID; sleep 1000")...))
	assert.Empty(t, r.rest(t))

	_, err := run(t, command(sh("sleep 1000 & kill -KILL $PPID; sleep 1000")...))
	assert.ErrorContains(t, err, "without an answer: killed by SIGKILL")
}

// A supervisor that cannot begin reports why.
func TestSupervisorFails(t *testing.T) {
	c := command("true")
	c.Self = Self{Path: "/bin/sh", Argv: []string{"sh", "-c", "echo gorun: error: too few threads >&2; echo gorun: hint: have more >&2"}}
	_, err := run(t, c)
	require.EqualError(t, err, "too few threads")
	assert.Equal(t, "have more", hint.Of(err))
}

// A command that does not end when it is asked to is killed, with its descendants.
func TestInterruptedAndUnwilling(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	from, to, err := os.Pipe()
	require.NoError(t, err)
	defer from.Close()
	c := command(sh(family + "echo ready; sleep 1000; sleep 1000")...)
	c.Self.Patience = time.Millisecond
	c.Members[0].Stdout = to
	go func() {
		_, _ = from.Read(make([]byte, 1))
		cancel()
	}()
	o, err := Run(ctx, c)
	to.Close()
	require.NoError(t, err)
	assert.Equal(t, 9, o.Signal)
	assert.Empty(t, o.Left)
}

// On a terminal the command may read it, and ^C reaches the command once.
func TestOnATerminal(t *testing.T) {
	each(t, interactive, func(t *testing.T, as string) {
		keys, terminal := openTerminal(t)
		cmd := self(as, sh(`trap 'echo got' INT; echo $$; until read x; do :; done; echo "read $x"; exit 6`)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		require.NoError(t, cmd.Start())
		terminal.Close()
		lines := bufio.NewReader(keys)
		next := func() string {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			return strings.TrimRight(line, "\r\n")
		}
		pid, err := strconv.Atoi(next())
		require.NoError(t, err)
		for range 20 {
			// A signal that comes before the shell sleeps in read(2) is noticed only when that ends, and two that come at once are one.
			tests.Await(t, "read", func() bool { return tests.State(pid) == 'S' })
			_, err := keys.WriteString("\x03")
			require.NoError(t, err)
			require.Equal(t, "^Cgot", next())
		}
		_, err = keys.WriteString("hello\n")
		require.NoError(t, err)
		require.Equal(t, "hello", next()) // the echo
		require.Equal(t, "read hello", next())
		assert.Equal(t, 6, code(cmd.Wait()))
	})
}

// openTerminal opens a pseudo-terminal (pts(4)): keys is the side of the user.
func openTerminal(t *testing.T) (keys, terminal *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("needs pseudo-terminals")
	}
	t.Cleanup(func() { keys.Close() })
	const setLock, getNumber = 0x40045431, 0x80045430 // TIOCSPTLCK, TIOCGPTN (asm-generic/ioctls.h)
	var number int32
	for _, request := range []uintptr{setLock, getNumber} {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, keys.Fd(), request, uintptr(unsafe.Pointer(&number)))
		require.Zero(t, errno)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	return keys, terminal
}
