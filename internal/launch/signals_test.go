package launch

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/sysfs"
	"gorun/internal/tests"
)

func TestSignalsArePassedOn(t *testing.T) {
	both(t, func(t *testing.T, as string) {
		if as == asMeasurer {
			t.Skip("it keeps signals to itself")
		}
		for name, s := range map[string]syscall.Signal{
			"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
			"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
		} {
			cmd := self(as, shell("trap 'echo got; exit 7' "+name+"; echo ready; sleep 1000 & wait; wait")...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal: nobody but us sends signals
			r := begin(t, cmd)
			require.NoError(t, cmd.Process.Signal(s))
			line, err := r.ReadString('\n')
			require.NoError(t, err)
			assert.Equal(t, "got\n", line, name)
			assert.Equal(t, 7, code(cmd.Wait()), name)
			if as == asCommand {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it leaves its child behind, as under env
			}
			assert.Empty(t, r.rest(t), name)
		}
	})
}

func TestACommandThatDiesOfASignal(t *testing.T) {
	cmd := self(asRunner, shell("echo ready; exec sleep 1000")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r := begin(t, cmd)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Empty(t, r.rest(t))
	assert.Equal(t, 128+15, code(cmd.Wait()))
}

// Signals that were ignored before gorun stay ignored, as with nohup.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	both(t, func(t *testing.T, as string) {
		out, err := exec.Command("/bin/sh", "-c", `trap '' HUP; exec "$0" "$1" /bin/sh -c 'kill -HUP $$; echo alive'`,
			os.Args[0], as).Output()
		require.NoError(t, err)
		assert.Equal(t, "alive\n", string(out))
	})
}

func TestStoppedAndContinued(t *testing.T) {
	cmd := self(asRunner, shell("echo ready; echo $$; trap 'echo over; exit 5' USR1; sleep 1000 & wait; wait")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r := begin(t, cmd)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	state := func(want string) func() bool {
		return func() bool {
			is, err := sysfs.ReadField(os.DirFS("/"), fmt.Sprintf("proc/%d/status", pid), "State")
			return err == nil && strings.HasPrefix(is, want)
		}
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTSTP))
	var status syscall.WaitStatus
	_, err = syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
	require.Eventually(t, state("T"), time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.Eventually(t, state("S"), time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGUSR1))
	assert.Equal(t, "over\n", r.rest(t))
	assert.Equal(t, 5, code(cmd.Wait()))
}

func TestNobodyOutlivesAKilledGorun(t *testing.T) {
	for _, as := range []string{asRunner, asMeasurer} {
		t.Run(as, func(t *testing.T) {
			for _, session := range []bool{false, true} {
				cmd := self(as, shell(family+"echo ready; sleep 1000")...)
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
	r := begin(t, self(asRunner, shell(family+"echo ready; exit 4")...))
	assert.Empty(t, r.rest(t))

	o, err := run(t, command(shell(family+"exit 4")...), Setting{})
	require.NoError(t, err)
	assert.Equal(t, 4, o.ExitCode)
	assert.GreaterOrEqual(t, o.Killed, 3)
	assert.Empty(t, o.Left)
}

func TestNobodyOfTheGroupOutlivesAKilledSupervisor(t *testing.T) {
	r := begin(t, self(asMeasurer, shell("echo ready; sleep 1000 & kill -KILL $PPID; sleep 1000")...))
	assert.Empty(t, r.rest(t))

	_, err := run(t, command(shell("sleep 1000 & kill -KILL $PPID; sleep 1000")...), Setting{})
	assert.ErrorContains(t, err, "without an answer: killed by SIGKILL")
}

func TestTimeout(t *testing.T) {
	c := command(shell("setsid sleep 1000 & echo why >&2; exec sleep 1000")...)
	c.Timeout = time.Second
	o, err := run(t, c, Setting{})
	require.NoError(t, err)
	assert.True(t, o.TimedOut)
	assert.Equal(t, 128+15, o.ExitCode, "it was asked to end")
	assert.Equal(t, "why\n", string(o.Stderr))
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, err := Run(ctx, command("sleep", "1000"), Setting{})
	require.NoError(t, err)
	assert.Equal(t, 15, o.Signal)
	assert.False(t, o.TimedOut)
}

func TestInterruptedAndUnwilling(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	from, to, err := os.Pipe()
	require.NoError(t, err)
	defer from.Close()
	c := command(shell(family + "echo ready; sleep 1000; sleep 1000")...)
	c.Stdout = to
	go func() {
		_, _ = from.Read(make([]byte, 1))
		cancel()
	}()
	o, err := Run(ctx, c, Setting{})
	to.Close()
	require.NoError(t, err)
	assert.Equal(t, 9, o.Signal)
	assert.Empty(t, o.Left)
}

// On a terminal the command may read it, and ^C reaches the command once.
func TestOnATerminal(t *testing.T) {
	both(t, func(t *testing.T, as string) {
		if as == asMeasurer {
			t.Skip("the terminal is not its command's")
		}
		keys, terminal := openTerminal(t)
		cmd := self(as, shell(`trap 'echo got' INT; echo $$; until read x; do :; done; echo "read $x"; exit 6`)...)
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
		t.Skipf("there are no pseudo-terminals here: %v", err)
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
