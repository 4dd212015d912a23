package dedicate

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux"
)

// asHolder is the name under which the test binary is a process that holds a lock.
const asHolder = "holder"

func TestMain(m *testing.M) {
	if os.Args[0] == asHolder {
		if err := hold(os.Args[1], os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// hold locks a file as a user, in a process with a name, until SIGTERM.
func hold(path, uid, name string) error {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/comm", os.Getpid()), []byte(name), 0); err != nil {
		return err
	}
	if id, err := strconv.Atoi(uid); err != nil || syscall.Setuid(id) != nil {
		return fmt.Errorf("cannot be user %s", uid)
	}
	file, err := linux.Lock(path)
	if err != nil {
		return err
	}
	defer file.Close()
	fmt.Println("locked")
	<-term
	return nil
}

// startHolder starts a process that holds a lock, and returns when it has it.
func startHolder(t *testing.T, path string, uid int, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", path, strconv.Itoa(uid), name)
	cmd.Args[0], cmd.Stderr = asHolder, os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked\n", line)
	return cmd
}

// One process at a time has the lock. root takes precedence over other users: their gorun ends, and another program is ignored. Nobody takes
// precedence over root.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if os.Geteuid() == 0 && dir != os.TempDir() {
			require.NoError(t, os.Chmod(dir, 0o755))
		}
	}
	holder := startHolder(t, path, os.Geteuid(), "gorun")
	_, err := lock(t.Context(), path, tests.Hang)
	require.ErrorContains(t, err, fmt.Sprintf("process %d holds the lock", holder.Process.Pid))
	require.NoError(t, holder.Process.Signal(syscall.SIGTERM))
	require.NoError(t, holder.Wait())
	file, err := lock(t.Context(), path, tests.Hang)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	const nobody = 65534
	tests.Root(t)
	other := startHolder(t, path, nobody, "tail")
	file, err = lock(t.Context(), path, tests.Hang)
	require.NoError(t, err)
	assert.Nil(t, file, "it is ignored")
	require.NoError(t, other.Process.Kill())
	_ = other.Wait()

	gorun := startHolder(t, path, nobody, "gorun")
	file, err = lock(t.Context(), path, tests.Hang)
	require.NoError(t, err)
	require.NotNil(t, file)
	require.NoError(t, gorun.Wait(), "it was asked to end")
	require.NoError(t, file.Close())

	stuck := startHolder(t, path, nobody, "gorun")
	require.NoError(t, stuck.Process.Signal(syscall.SIGSTOP))
	file, err = lock(t.Context(), path, 10*time.Millisecond)
	require.NoError(t, err)
	assert.Nil(t, file, "it is not awaited for ever")
}
