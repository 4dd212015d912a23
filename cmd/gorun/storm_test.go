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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/linux"
	"gorun/internal/result"
	"gorun/internal/sysfs"
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

// run waits for the end and returns the result.
func (s *served) run(t *testing.T) (run result.Run) {
	t.Helper()
	require.NoError(t, s.Wait())
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &run))
	return run
}

// peak returns the most memory that the process has had, in bytes.
func (s *served) peak(t *testing.T) uint64 {
	t.Helper()
	peak, err := sysfs.ReadKB(os.DirFS("/"), fmt.Sprintf("proc/%d/status", s.Process.Pid), "VmHWM")
	require.NoError(t, err)
	return peak
}

// Connections that send nothing, or half a request, neither end a run that may open few files nor take its memory.
func TestConnectionStorm(t *testing.T) {
	halfOpen, idle := 2000, 10_000
	if testing.Short() {
		halfOpen, idle = 500, 1000
	}
	var files syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	if most := int(files.Cur) - 200; most < halfOpen+idle {
		halfOpen, idle = most/6, most/6*5
	}
	args := append([]string{"matrix", "exec", "--nice", "0,1", "--samples", "3", "--warmup", "0"}, servedFlags...)
	s := serve(t, "ulimit -n 512;", append(args, "--", "sleep", "0.5")...)
	calm := s.peak(t)

	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	connect := func(number int, send string) {
		for range number {
			clients.Go(func() {
				dialer := net.Dialer{Timeout: 2 * time.Second} // the kernel does not answer when its queue is full
				conn, err := dialer.DialContext(ctx, "tcp", s.addr)
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, send)
				<-ctx.Done()
			})
		}
	}
	connect(halfOpen, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	connect(idle, "")
	time.Sleep(2500 * time.Millisecond)
	stormy := s.peak(t)
	run := s.run(t)
	cancel()
	clients.Wait()

	t.Logf("peak memory before and in the storm: %d and %d KiB", calm>>10, stormy>>10)
	assert.Less(t, stormy, calm+16<<20, "each connection takes 20 KB")
	require.Len(t, run.Samples, 9) // with the control's
	for _, sample := range run.Samples {
		assert.NotEqual(t, result.Invalid, sample.Quality.Verdict, sample.Quality.Reasons)
	}
}

// The CPU time of clients is in the samples' figures, which are suspect if it is large. The test counts the clients, and expects
// nothing of a machine that is too slow for them.
func TestBusyMetricsAreAReason(t *testing.T) {
	s := serve(t, "", append([]string{"primes", "--duration", "2s", "--cpus", strconv.Itoa(allowed(t)), "--workers", "1"},
		servedFlags...)...)
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var connected atomic.Int64
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				if conn, err := net.Dial("tcp", s.addr); err == nil {
					connected.Add(1)
					_ = conn.Close()
				}
			}
		})
	}
	run := s.run(t)
	cancel()
	clients.Wait()
	reason := slices.ContainsFunc(run.Samples, func(sample result.Sample) bool {
		return slices.ContainsFunc(sample.Quality.Reasons, func(reason string) bool {
			return strings.Contains(reason, "answering clients of --metrics-listen took about")
		})
	})
	seconds := 0.0 // more than 2 on a busy machine
	for _, sample := range run.Samples {
		seconds += sample.Seconds
	}
	if seconds < 1 || float64(connected.Load()) < 2000*seconds { // a tenth of the time or so
		t.Skipf("needs a machine with time for samples and connections: it made %d in %.1f s", connected.Load(), seconds)
	}
	assert.True(t, reason, "no sample has the reason: %v", run.Samples)
}

// allowed returns a CPU that this process may use.
func allowed(t *testing.T) int {
	t.Helper()
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	return cpus.First()
}
