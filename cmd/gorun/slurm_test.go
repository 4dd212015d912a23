package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux"
	"gorun/internal/work/fleet"
)

var (
	slurmSlowed  = flag.Int("slurm-slowed", 1, "fleets with a slow node that the test judges")
	slurmHealthy = flag.Int("slurm-healthy", 1, "fleets without one")
	slurmKeep    = flag.String("slurm-keep", "", "a `directory` that keeps the visits of the fleets")
)

// slurm is a Slurm of two nodes, n0 and n1, on this machine: each has a CPU. All that it writes is in one directory.
type slurm struct {
	t      *testing.T
	dir    string
	visits string
	gorun  string
	cpus   []int
	ctld   *started
}

// slurmNodes are the names of the nodes.
var slurmNodes = [...]string{"n0", "n1"}

// newSlurm makes a Slurm that is not yet started. When the test ends, so does all that it started.
func newSlurm(t *testing.T) *slurm {
	tests.Target(t, "slurm")
	tests.Root(t)
	for _, program := range []string{"slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "sinfo", "munged", "taskset", "pgrep"} {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "Debian: apt-get install --no-install-recommends slurmctld slurmd slurm-client munge procps util-linux")
	}
	runtime.LockOSThread() // the daemons end with this thread at the latest
	t.Cleanup(runtime.UnlockOSThread)
	s := &slurm{t: t, dir: t.TempDir(), cpus: tests.CPUs(t, len(slurmNodes))}
	require.NoError(t, os.Chmod(filepath.Dir(s.dir), 0o755), "munged refuses a directory that others cannot enter")
	require.NoError(t, linux.AdoptOrphans())
	t.Cleanup(s.endOrphans)

	s.visits, s.gorun = s.path("visits"), s.path("gorun")
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, s.gorun))
	t.Setenv("SLURM_CONF", s.path("slurm.conf"))
	t.Setenv("GORUN", s.gorun)
	t.Setenv("GORUN_VISITS", s.visits)
	t.Setenv("GORUN_BUDGET", "5s")
	return s
}

// start starts munged, slurmctld and a slurmd for each node, with further lines of slurm.conf, and waits until both nodes are idle.
func (s *slurm) start(conf string) {
	s.t.Helper()
	s.write("munge.key", strings.Repeat("k", 128), 0o400)
	s.write("slurm.conf", s.conf()+conf, 0o644)
	start(s.t, exec.Command("munged", "--foreground", "--force", "--key-file="+s.path("munge.key"), "--socket="+s.path("munge.socket"),
		"--pid-file="+s.path("munged.pid"), "--log-file="+s.path("munged.log"), "--seed-file="+s.path("munged.seed")))
	s.await("socket of munged", func() bool { return exists(s.path("munge.socket")) })
	s.startControl()
	for i, node := range slurmNodes {
		start(s.t, onCPU(s.cpus[i], "slurmd", "-D", "-N", node))
	}
	s.awaitIdle()
}

// onCPU returns a program that has one CPU, as have those that it starts. Where this is allowed, it also has its own processes, which
// end with it, even if the test is killed.
func onCPU(cpu int, args ...string) *exec.Cmd {
	alone := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if exec.Command(alone[0], append(alone[1:], "true")...).Run() != nil {
		alone = nil
	}
	return exec.Command("taskset", slices.Concat([]string{"-c", fmt.Sprint(cpu)}, alone, args)...)
}

func (s *slurm) path(name string) string { return filepath.Join(s.dir, name) }

func (s *slurm) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(text), mode))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// conf returns slurm.conf. A job that is put back into the queue waits for the end of its credential, which is short here.
func (s *slurm) conf() string {
	host, err := os.Hostname()
	require.NoError(s.t, err)
	host, _, _ = strings.Cut(host, ".")
	ports := freePorts(s.t, 1+len(slurmNodes))
	text := strings.NewReplacer("HOST", host, "DIR", s.dir).Replace(`ClusterName=gorun
SlurmctldHost=HOST(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=DIR/munge.socket,cred_expire=5
StateSaveLocation=DIR/state
SlurmctldPidFile=DIR/slurmctld.pid
SlurmdSpoolDir=DIR/spool-%n
SlurmdPidFile=DIR/slurmd-%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SchedulerParameters=batch_sched_delay=0
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
JobRequeue=1
`)
	text += fmt.Sprintf("SlurmctldPort=%d\n", ports[0])
	for i, node := range slurmNodes {
		text += fmt.Sprintf("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=1 RealMemory=500\n", node, host, ports[1+i])
	}
	return text + "PartitionName=all Nodes=ALL Default=YES State=UP\n"
}

// freePorts returns ports of which no program listens.
func freePorts(t *testing.T, n int) (ports []int) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close() // all at the end, so that they differ
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func (s *slurm) startControl() {
	s.ctld = start(s.t, exec.Command("slurmctld", "-D"))
	s.await("slurmctld", func() bool { return exec.Command("scontrol", "ping").Run() == nil })
}

// endOrphans ends what the daemons have started: slurmstepd leaves its session, and this process adopts it.
func (s *slurm) endOrphans() {
	for {
		pids := tests.Children(s.t, os.Getpid())
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
	}
}

// run runs a program, and returns its output without the last newline.
func (s *slurm) run(name string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir // of what jobs write
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(s.t, err, "%s: %s%s", cmd, out, &stderr)
	return strings.TrimSpace(string(out))
}

// nodes returns the nodes' states: "n0 idle, n1 idle".
func (s *slurm) nodes() string {
	lines := strings.Split(s.run("sinfo", "-h", "-N", "-o", "%N %t"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

func (s *slurm) awaitIdle() {
	s.t.Helper()
	s.await("two idle nodes", func() bool { return s.nodes() == "n0 idle, n1 idle" })
}

// await waits as tests.Await does, and leaves the CPUs to the visits meanwhile.
func (s *slurm) await(what string, is func() bool) {
	s.t.Helper()
	tests.Await(s.t, what, func() bool {
		if is() {
			return true
		}
		time.Sleep(300 * time.Millisecond)
		return false
	})
}

// template writes a template as gorun prints it, with changes, and returns its path.
func (s *slurm) template(name string, changes ...string) string {
	text, err := fleet.FindTemplate(name)
	require.NoError(s.t, err)
	for i := 0; i < len(changes); i += 2 {
		require.Contains(s.t, text, changes[i])
	}
	s.write(name, strings.NewReplacer(changes...).Replace(text), 0o755)
	return s.path(name)
}

// awaitEmpty waits until no job is queued. Slurm holds a job whose start it lost track of: an administrator releases it.
func (s *slurm) awaitEmpty() {
	s.t.Helper()
	s.await("empty queue", func() bool {
		jobs := s.run("squeue", "-h", "-r", "-o", "%i %t %r")
		for job := range strings.Lines(jobs) {
			if id, why, _ := strings.Cut(job, " "); strings.Contains(why, "held") {
				s.t.Logf("scontrol release %s: %s", id, strings.TrimSpace(why))
				s.run("scontrol", "release", id)
			}
		}
		return jobs == ""
	})
}

// judged returns the judgement of a command line.
func (s *slurm) judged(args ...string) (j fleet.Judgement) {
	s.t.Helper()
	text := s.run(s.gorun, append(slices.Clone(args), "--format", "json")...)
	require.NoError(s.t, json.Unmarshal([]byte(text), &j))
	return j
}

// measured reports whether the file of a visit of a node that has not ended has a measure.
func (s *slurm) measured(node string) bool {
	return slices.ContainsFunc(s.files(node, ".part"), func(part string) bool {
		text, _ := os.ReadFile(part) // it may have ended
		return strings.Contains(string(text), `{"measure":`)
	})
}

// visitor returns the PID of the gorun that visits a node; 0: there is none.
func (s *slurm) visitor(node string) int {
	s.t.Helper()
	pids, err := linux.Descendants()
	require.NoError(s.t, err)
	for _, pid := range pids {
		words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		if strings.HasPrefix(string(words), s.gorun) && slices.Contains(strings.Split(string(words), "\x00"), node) {
			return pid
		}
	}
	return 0
}

// files returns the files of a node's visits whose names end so; of all nodes: "*".
func (s *slurm) files(node, end string) []string {
	files := tests.Glob(s.t, filepath.Join(s.visits, node, "*", "*"+end))
	return files
}

// The array job visits the nodes. A visit whose gorun is killed and one whose task is put back into the queue are cut, and count; the
// latter is made again. Nothing is lost when the controller is killed meanwhile.
func TestSlurmArray(t *testing.T) {
	s := newSlurm(t)
	s.start("")
	s.run("sbatch", "--array=1-4", s.template("slurm"))
	var killed int
	s.await("two visits", func() bool {
		killed = s.visitor("n0")
		return killed != 0 && s.measured("n0") && s.measured("n1")
	})
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
	requeued := s.run("squeue", "-h", "-w", "n1", "-t", "R", "-o", "%A")
	s.run("scontrol", "requeue", requeued)
	at := time.Now() // a controller that has not saved its state begins both tasks again, and drains the nodes that have them already
	s.await("saved state", func() bool {
		saved, err := os.Stat(s.path("state/job_state"))
		return err == nil && saved.ModTime().After(at)
	})
	require.NoError(t, s.ctld.Process.Kill())
	s.startControl()
	s.awaitEmpty()
	s.awaitIdle()

	whole, cut := len(s.files("*", ".jsonl")), len(s.files("*", ".part"))
	assert.Equal(t, 3, whole, "four tasks, of which one was killed")
	assert.Equal(t, 2, cut, "one was killed, one put back")
	j := s.judged("fleet", "judge", s.visits)
	assert.Equal(t, whole+cut, j.Visits.Read)
	assert.Equal(t, cut, j.Visits.Cut)
	assert.Empty(t, j.Warnings)
	assert.Empty(t, j.Wrong)
}

// Errors of the array job are where the template says, one file for each node, and nothing else is written.
func TestSlurmErrors(t *testing.T) {
	s := newSlurm(t)
	s.start("")
	t.Setenv("GORUN_BUDGET", "1h1")
	for range 2 {
		s.run("sbatch", "--array=1-2", s.template("slurm"))
		s.awaitEmpty()
		s.awaitIdle()
	}
	errors := s.run("sh", "-c", "cat gorun-fleet-*.err") // both nodes have the name of this host
	assert.Equal(t, 4, strings.Count(errors, "gorun: error: --budget 1h1: a time is needed"), errors)
}

// Slurm's health check visits idle nodes, and ends when a job comes. Slurm gives it no environment.
func TestSlurmHealthCheck(t *testing.T) {
	s := newSlurm(t)
	program := s.template("slurm-healthcheck", "/shared/visits", s.visits, ":-gorun", ":-"+s.gorun, ":-45s", ":-5s")
	s.start("HealthCheckProgram=" + program + "\nHealthCheckInterval=6\nHealthCheckNodeState=IDLE\n")
	for _, node := range slurmNodes {
		s.await("two visits of "+node, func() bool { return len(s.files(node, ".jsonl")) > 1 })
	}
	s.await("visit that a job cut", func() bool {
		if s.measured("n0") { // the job lasts until the visit has ended
			s.run("srun", "-w", "n0", "sh", "-c", "while pgrep -f '^"+s.gorun+" fleet node .*n0'; do sleep 0.1; done")
		}
		return s.measured("n0") && s.visitor("n0") == 0
	})
	s.await("end of the job", func() bool { return s.run("squeue", "-h") == "" }) // it completes after srun has ended
}

// A slow node of two is named, and the other is not; of two that are not slow, none is. It needs a machine with nothing else to do.
func TestSlurmSlowNode(t *testing.T) {
	if *slurmSlowed+*slurmHealthy == 0 {
		t.Skip("needs a quiet machine: make slurm")
	}
	s := newSlurm(t)
	s.start("")
	for fleets := range *slurmSlowed {
		var hogs []*started
		for range 3 { // one slows the other node too, whose CPU may be a sibling; each is a group of its own to the scheduler
			hogs = append(hogs, start(t, onCPU(s.cpus[0], "setsid", "sh", "-c", "while :; do :; done")))
		}
		j := s.fleet(fmt.Sprint("slowed-", fleets), 20, func(j fleet.Judgement) bool { return len(j.Slow) > 0 })
		for _, hog := range hogs {
			require.NoError(t, hog.Process.Kill())
		}
		require.NotEmpty(t, j.Slow)
		for _, slow := range j.Slow {
			assert.Equal(t, "n0", slow.Node)
		}
		lines := append(s.judging(fmt.Sprint("slowed-", fleets)), "--format", "slurm")
		assert.Contains(t, s.run(s.gorun, lines...), "# no line for n0 (", "one of two nodes could be framed by the other")
		s.wrong(lines[2], "n0")
		s.run("sh", "-c", s.run(s.gorun, lines...))
		s.await("drained node", func() bool { return s.nodes() == "n0 drain, n1 idle" })
		s.run("scontrol", "update", "nodename=n0", "state=resume")
		s.awaitIdle()
	}
	for fleets := range *slurmHealthy {
		j := s.fleet(fmt.Sprint("healthy-", fleets), 14, func(fleet.Judgement) bool { return false })
		assert.Empty(t, j.Slow)
	}
}

// wrong writes a wrong result into the last visit of a node: what a node says of itself drains it.
func (s *slurm) wrong(visits, node string) {
	s.t.Helper()
	files := tests.Glob(s.t, filepath.Join(visits, node, "*", "*"))
	last := slices.Max(files)
	text := tests.Read(s.t, last)
	require.NoError(s.t, os.WriteFile(last, append(text, `{"missing":{"name":"latency","reason":"wrong","wrong":["a wrong result"]}}`+"\n"...), 0o600))
}

const (
	// slurmSlot is long enough for a visit of 5 s and for Slurm to start it.
	slurmSlot = 7 * time.Second
	// slurmMargin is above a lasting difference of two CPUs of a virtual machine, and below what hogs take.
	slurmMargin = "20%"
)

// judging returns the command line that judges a fleet, by its name.
func (s *slurm) judging(name string) []string {
	return []string{"fleet", "judge", filepath.Join(cmp.Or(*slurmKeep, s.dir), name), "--slot", slurmSlot.String(), "--margin", slurmMargin}
}

// fleet submits the array job in each slot until the visits are enough or as many as this, and returns their judgement.
func (s *slurm) fleet(name string, most int, enough func(fleet.Judgement) bool) (j fleet.Judgement) {
	s.t.Helper()
	judging := s.judging(name)
	s.t.Setenv("GORUN_VISITS", judging[2])
	text, err := fleet.FindTemplate("slurm")
	require.NoError(s.t, err)
	submit := regexp.MustCompile(`(?m)^#   (sbatch .*) FILE$`).FindStringSubmatch(text)
	require.NotNil(s.t, submit, "the template says how it is submitted")
	job, begun := submit[1]+" "+s.template("slurm"), time.Now()
	nextSlot := func() { time.Sleep(time.Until(time.Now().Truncate(slurmSlot).Add(slurmSlot))) }
	nextSlot()
	for visit := 0; visit < most && !enough(j); visit++ {
		s.run("sh", "-c", job)
		s.awaitEmpty()
		nextSlot()
		j = s.judged(judging...)
	}
	var es []string
	for _, node := range j.Nodes {
		for _, m := range node.Measures {
			es = append(es, fmt.Sprintf("%s %s %.2f in %d: e %.3g", node.Name, m.Measure, m.Ratio, m.Bets, m.E))
		}
	}
	s.t.Logf("%s: %d visits in %.0f s, %.0f needed; %s", name, j.Visits.Judged, time.Since(begun).Seconds(), j.Needed, strings.Join(es, "; "))
	for _, slow := range j.Slow {
		s.t.Logf("%s is slow in %s: %.2f (from %.2f), e %.3g", slow.Node, slow.Measure, slow.Ratio, slow.Lo, slow.E)
	}
	return j
}
