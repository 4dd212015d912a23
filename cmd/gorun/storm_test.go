package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/result"
	"gorun/internal/sysfs"
	"gorun/internal/tests"
)

// served is a run in its own process that serves metrics.
type served struct {
	*exec.Cmd
	addr string
	out  bytes.Buffer
}

// servedFlags are the flags of such a run.
var servedFlags = []string{"--quiet", "--format", "json", "--metrics-listen", "127.0.0.1:0"}

// serve starts gorun with these words of a shell before its name, and returns when it serves.
func serve(t *testing.T, before string, args ...string) *served {
	t.Helper()
	s := &served{Cmd: exec.Command("sh", append([]string{"-c", before + ` exec "$0" "$@"`, asGorun(t)}, args...)...)}
	s.Stdout = &s.out
	stderr, err := s.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(func() { _ = s.Process.Kill() }) // if it has not ended
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	found := regexp.MustCompile(`http://(\S+)/metrics`).FindStringSubmatch(line)
	require.NotNil(t, found, line)
	s.addr = found[1]
	go func() { _, _ = io.Copy(t.Output(), stderr) }()
	return s
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

// peak returns the most memory that the process has had, in bytes.
func (s *served) peak(t *testing.T) uint64 {
	t.Helper()
	peak, err := sysfs.ReadKB(os.DirFS("/"), fmt.Sprintf("proc/%d/status", s.Process.Pid), "VmHWM")
	require.NoError(t, err)
	return peak
}

// Connections that send nothing, or half a request, neither end a run that may open few files nor take its memory.
func TestLiveConnectionStorm(t *testing.T) {
	tests.Live(t)
	const halfOpen, idle = 500, 1000
	var files syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	if files.Cur < halfOpen+idle+200 {
		t.Skipf("needs a limit of %d open files", halfOpen+idle+200)
	}
	gate := newGate(t)
	args := append([]string{"matrix", "exec", "--nice", "0,1", "--samples", "1", "--warmup", "0"}, servedFlags...)
	s := serve(t, "ulimit -n 512;", append(args, "--", gate.command)...)
	calm := s.peak(t)
	var clients sync.WaitGroup
	connect := func(number int, send string) {
		for range number {
			clients.Go(func() {
				dialer := net.Dialer{Timeout: 2 * time.Second} // the kernel does not answer when its queue is full
				conn, err := dialer.DialContext(t.Context(), "tcp", s.addr)
				if err != nil {
					return
				}
				t.Cleanup(func() { _ = conn.Close() })
				_, _ = io.WriteString(conn, send)
			})
		}
	}
	connect(halfOpen, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	connect(idle, "")
	clients.Wait()
	tests.Pause(100 * time.Millisecond) // in which a server without a limit would accept them
	stormy := s.peak(t)
	over := make(chan error, 1)
	go func() { over <- s.Wait() }()
	require.NoError(t, gate.openUntil(over))

	t.Logf("peak memory before and in the storm: %d and %d KiB", calm>>10, stormy>>10)
	assert.Less(t, stormy, calm+16<<20, "each connection takes 20 KB")
	var run result.Run
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &run))
	require.Len(t, run.Samples, 3) // with the control's
	for _, sample := range run.Samples {
		assert.NotEqual(t, result.Invalid, sample.Quality.Verdict, sample.Quality.Reasons)
	}
}

// The CPU time of clients is in the samples' figures, which are suspect if it is large.
func TestLiveBusyMetricsAreAReason(t *testing.T) {
	tests.Live(t)
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	s := serve(t, "", append([]string{
		"primes", "--limit", "20000", "--method", "modulo", "--workers", "1", "--cpus", strconv.Itoa(tests.CPUs(t, 1)[0]),
		"--samples", "1000000", "--budget", "0", "--out", journal,
	}, servedFlags...)...)
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				if conn, err := net.Dial("tcp", s.addr); err == nil {
					_ = conn.Close()
				}
			}
		})
	}
	tests.Await(t, "sample with the reason", func() bool {
		text, _ := os.ReadFile(journal)
		return strings.Contains(string(text), "answering clients of --metrics-listen took about")
	})
	cancel()
	clients.Wait()
	require.NoError(t, s.Process.Signal(syscall.SIGINT))
	require.Error(t, s.Wait())
	assert.Equal(t, exitInterrupted, s.ProcessState.ExitCode())
}
