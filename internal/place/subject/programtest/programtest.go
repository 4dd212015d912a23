// Package programtest has programs that tests switch, and loads for them. A test binary that calls Main becomes one of them.
package programtest

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// variable makes a test binary one of the programs: its value has the words of run.
const variable = "GORUN_TEST_PROGRAM"

// Main runs the tests, or the program that Start has asked for.
func Main(m *testing.M) {
	Become()
	os.Exit(m.Run())
}

// Become runs the program that Start or a Load has asked for, if this process is it.
func Become() {
	if words := os.Getenv(variable); words != "" {
		os.Unsetenv(variable)
		runtime.LockOSThread()
		run(strings.Fields(words))
		os.Exit(0)
	}
}

// Load returns one of the programs as a command line, for --load.
func Load(t testing.TB, words ...string) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return fmt.Sprintf("env '%s=%s' '%s'", variable, strings.Join(words, " "), path)
}

// Start starts one of the programs, and returns when it is ready. It is killed at the end of the test.
func Start(t testing.TB, words ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), variable+"="+strings.Join(words, " "))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the signal is sent when this thread ends
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		runtime.UnlockOSThread()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, ready, line)
	return cmd
}

// ready is the first line of each program.
const ready = "ready\n"

// run is one of the programs:
//
//	threads N     N threads that sleep
//	headless N    N threads that sleep; the first thread of the process ends
//	churn N       N threads, of which each starts another one and ends, all the time
//	serve ADDRESS [TIME]
//	              a server of a page with metrics, whose counter grows by 1 every time the page / is asked for; slow_total is written
//	              once a second, risen rises without a type, and unknown is NaN. It takes TIME to serve the page with metrics
//	ask ADDRESS   a load of such a server, which asks for the page / all the time
//	rates PID S…  a load of the program PID: lines "rate=R" every 10 ms. R depends on the CPUs of PID: a share S of 1000 for
//	              each number of its first CPU (1 for those without), with noise; cost=C loses a share C for cost-for=D
//	              seconds after each change of the CPUs
func run(words []string) {
	switch words[0] {
	case "threads":
		var threads sync.WaitGroup
		for range int(number(words[1])) {
			threads.Add(1)
			go sleep(&threads)
		}
		threads.Wait()
	case "headless":
		var threads sync.WaitGroup
		for range int(number(words[1])) {
			threads.Add(1)
			go sleep(&threads)
		}
		threads.Wait()
		fmt.Print(ready)
		_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // of main, which Become has locked to the first thread
	case "churn":
		for range int(number(words[1])) {
			go churn()
		}
	case "serve":
		serve(words[1], words[2:])
	case "ask":
		ask(words[1])
		return
	case "rates":
		fmt.Print(ready)
		rates(int(number(words[1])), words[2:])
		return
	}
	fmt.Print(ready)
	select {}
}

func number(word string) float64 {
	n, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func sleep(threads *sync.WaitGroup) {
	runtime.LockOSThread()
	threads.Done()
	var fds [2]int
	_ = syscall.Pipe(fds[:])
	_, _ = syscall.Read(fds[0], make([]byte, 1)) // it has no writer that writes
}

func churn() {
	runtime.LockOSThread() // and no unlock: the thread ends
	time.Sleep(time.Millisecond)
	go churn()
}

func serve(address string, words []string) {
	var count atomic.Int64
	var takes time.Duration
	if len(words) > 0 {
		takes, _ = time.ParseDuration(words[0])
	}
	http.HandleFunc("/", func(http.ResponseWriter, *http.Request) { count.Add(1) })
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(takes)
		n := count.Load()
		fmt.Fprintf(w, "# TYPE asked_total counter\nasked_total{code=\"200\"} %d\nasked_total{code=\"500\"} 1\n", n)
		fmt.Fprintf(w, "# TYPE slow_total counter\nslow_total %d\n", 1000*time.Now().Unix())
		fmt.Fprintf(w, "# TYPE risen_total counter\nrisen %d\n# TYPE unknown gauge\nunknown NaN\n", time.Now().UnixMicro())
		fmt.Fprintf(w, "# TYPE waiting gauge\nwaiting 3\n# TYPE took_seconds histogram\n")
		fmt.Fprintf(w, "took_seconds_bucket{le=\"0.1\"} %d\ntook_seconds_bucket{le=\"+Inf\"} %d\ntook_seconds_sum %d\ntook_seconds_count %d\n", n, n, n, n)
	})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	go func() { _ = http.Serve(listener, nil) }()
}

func ask(address string) {
	for {
		answer, err := http.Get("http://" + address + "/")
		if err != nil {
			panic(err)
		}
		answer.Body.Close()
	}
}

// rates are those of a program that loses a share of its speed by placement, and by each change of it.
func rates(pid int, words []string) {
	shares, cost, costFor := []float64{}, 0.0, 0.0
	for _, word := range words {
		switch name, value, named := strings.Cut(word, "="); {
		case !named:
			shares = append(shares, number(word))
		case name == "cost":
			cost = number(value)
		case name == "cost-for":
			costFor = number(value)
		}
	}
	random := rand.New(rand.NewPCG(uint64(pid), 1))
	var was cpuset.Set
	changed, drift := time.Now(), 0.0
	for {
		is, err := linux.GetAffinity(pid)
		if err != nil {
			return
		}
		if !is.Equal(was) {
			was, changed = is, time.Now()
		}
		drift = 0.9*drift + 0.003*random.NormFloat64() // slow noise
		rate := 1000 * math.Exp(drift+0.01*random.NormFloat64())
		if first := is.First(); first < len(shares) {
			rate *= shares[first]
		}
		if time.Since(changed).Seconds() < costFor {
			rate *= 1 - cost
		}
		fmt.Printf("rate=%.3f\n", rate)
		time.Sleep(10 * time.Millisecond)
	}
}

// Group makes a control group with all CPUs, of the controller cpuset of version 1 or 2. It is removed at the end of the test.
func Group(t testing.TB) string {
	t.Helper()
	for _, mount := range []string{"/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"} {
		dir := filepath.Join(mount, fmt.Sprintf("gorun-test-%x", rand.Uint64()))
		if _, err := os.Stat(filepath.Join(mount, "cpuset.cpus.effective")); err != nil {
			if _, err := os.Stat(filepath.Join(mount, "cpuset.effective_cpus")); err != nil {
				continue // it is no hierarchy with the controller
			}
		}
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			tests.Await(t, "empty group", func() bool {
				pids, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
				for pid := range strings.FieldsSeq(string(pids)) { // back to where they were started
					_ = os.WriteFile(filepath.Join(mount, "cgroup.procs"), []byte(pid), 0)
				}
				return os.Remove(dir) == nil
			})
		})
		var failed error
		for name, effective := range map[string]string{"cpuset.cpus": "cpuset.cpus.effective", "cpuset.mems": "cpuset.mems.effective"} {
			text, err := os.ReadFile(filepath.Join(mount, effective))
			if err != nil { // version 1
				text, err = os.ReadFile(filepath.Join(mount, name))
			}
			failed = errors.Join(failed, err, os.WriteFile(filepath.Join(dir, name), text, 0))
		}
		if failed == nil {
			return dir
		}
	}
	t.Skip("needs the controller cpuset")
	return ""
}
