package subject

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/place/subject/programtest"
)

// sleeper starts a process of one thread, and returns it as it is.
func sleeper(t *testing.T) Thread {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return thread(t, cmd.Process.Pid)
}

// parent starts a process, and returns what makes it start a child.
func parent(t *testing.T) (pid int, starts func() (child int)) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "read line; sleep 600 & echo $!; wait")
	begin, err := cmd.StdinPipe()
	require.NoError(t, err)
	answer, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid, func() (child int) {
		_, err := begin.Write([]byte("\n"))
		require.NoError(t, err)
		_, err = fmt.Fscan(answer, &child)
		require.NoError(t, err)
		t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
		return child
	}
}

func thread(t *testing.T, pid int) Thread {
	t.Helper()
	is, err := readThread(pid, pid)
	require.NoError(t, err)
	return is
}

// Threads that have lost a CPU get it back, and their children that were started since. What somebody else has given a thread stays, and so
// does what another thread has that got the number.
func TestPutBackOffACPU(t *testing.T) {
	one, two := twoOf(t)
	other := two.Minus(one)
	parent, starts := parent(t)
	ours, theirs, reused := thread(t, parent), sleeper(t), sleeper(t)
	s := New(Who{}, "a test's", Setting{Without: other})
	for _, of := range []*Thread{&ours, &theirs, &reused} {
		of.CPUs = two
		s.Threads = append(s.Threads, *of)
		require.NoError(t, linux.SetAffinity(of.TID, one))
	}
	s.Threads[2].Start--
	require.NoError(t, linux.SetAffinity(theirs.TID, other))
	child := starts()

	notes, err := s.PutBack()
	require.NoError(t, err)
	assert.Equal(t, []string{"1 threads were left as they are: the program or somebody else has placed them meanwhile"}, notes)
	for tid, want := range map[int]cpuset.Set{ours.TID: two, theirs.TID: other, reused.TID: one, child: two} {
		assert.Equal(t, want.String(), thread(t, tid).CPUs.String(), tid)
	}
}

// The child of a process that was named without its descendants inherits a setting, which it does not keep.
func TestPutBackOfAChild(t *testing.T) {
	one, two := twoOf(t)
	parent, starts := parent(t)
	require.NoError(t, linux.SetAffinity(parent, two))
	s, err := NewSwitcher(open(t, Who{PID: parent}), []Setting{onCPUs(one)})
	require.NoError(t, err)
	_, _, err = s.Give(onCPUs(one))
	require.NoError(t, err)
	child := starts()
	assert.Equal(t, one.String(), thread(t, child).CPUs.String())
	_, err = s.State().PutBack()
	require.NoError(t, err)
	assert.Equal(t, two.String(), thread(t, child).CPUs.Intersect(two).String())
}

// Files have again what they had, unless somebody else has written them.
func TestPutBackFiles(t *testing.T) {
	dir := t.TempDir()
	s := New(Who{}, "a test's")
	for name, is := range map[string]string{"ours": "0,2-3", "as a list": "2,0,3", "theirs": "3", "back": "0-3"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(is+"\n"), 0o600))
		s.Files = append(s.Files, File{Path: path, Before: "0-3", Given: []string{"0,2-3"}})
	}
	s.Files = append(s.Files, File{Path: filepath.Join(dir, "gone"), Before: "1", Given: []string{"0"}})
	notes, err := s.PutBack()
	require.NoError(t, err)
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], `theirs was left as it is, "3": somebody else has written it meanwhile`)
	for name, want := range map[string]string{"ours": "0-3", "as a list": "0-3", "theirs": "3", "back": "0-3"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, strings.TrimSpace(string(text)), name)
	}
	assert.NoFileExists(t, filepath.Join(dir, "gone"))
}

// What the kernel makes of a mask when CPUs go is ours. What a thread has chosen among the CPUs that it was given is not.
func TestGave(t *testing.T) {
	all, set := cpuset.Range(0, 3), cpuset.Of
	was := Thread{CPUs: all}
	for name, c := range map[string]struct {
		given  Setting
		online []cpuset.Set
		is     cpuset.Set
		want   bool
	}{
		"as given":                        {onCPUs(set(1, 3)), nil, set(1, 3), true},
		"without a CPU that is offline":   {onCPUs(set(1, 3)), []cpuset.Set{set(0, 1, 2)}, set(1), true},
		"although it is online again":     {onCPUs(set(1, 3)), []cpuset.Set{set(0, 1, 2), all}, set(1), true},
		"of its own choice":               {onCPUs(set(1, 3)), nil, set(1), false},
		"others":                          {onCPUs(set(1, 3)), []cpuset.Set{set(0, 1, 2)}, set(0, 1), false},
		"all, since its only one went":    {onCPUs(set(3)), []cpuset.Set{set(0, 1, 2)}, all, true},
		"those online, since it went":     {onCPUs(set(3)), []cpuset.Set{set(0, 1, 2)}, set(0, 1, 2), true},
		"one, although its only one went": {onCPUs(set(3)), []cpuset.Set{set(0, 1, 2)}, set(1), false},
		"off a CPU":                       {Setting{Without: set(0)}, nil, set(1, 2, 3), true},
		"off a CPU, and another offline":  {Setting{Without: set(0)}, []cpuset.Set{set(0, 1, 2)}, set(1, 2), true},
		"off a CPU, of its own choice":    {Setting{Without: set(0)}, nil, set(1, 2), false},
		"no CPUs were given":              {Setting{Setting: placement.Setting{Nice: new(int)}}, nil, set(1), false},
	} {
		s := State{Given: []Setting{c.given}, Online: append([]cpuset.Set{all}, c.online...)}
		assert.Equal(t, c.want, s.gave(Thread{PID: os.Getpid(), CPUs: c.is}, was), name)
	}
}

// kept returns a state in a folder of its own, which this process has kept.
func kept(t *testing.T) *State {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir()) // which root does not follow
	pid := programtest.Start(t, "threads", "1").Process.Pid
	one, _ := twoOf(t)
	s, err := NewSwitcher(open(t, Who{PID: pid}), []Setting{onCPUs(one)})
	require.NoError(t, err)
	require.NoError(t, s.State().Keep())
	t.Cleanup(func() { _ = s.State().Drop() })
	_, _, err = s.Give(onCPUs(one))
	require.NoError(t, err)
	return s.State()
}

// The file of a state says everything, and one gorun at a time has it. A file that is not this user's alone is not believed.
func TestStateInAFile(t *testing.T) {
	s := kept(t)
	read, err := Read(s.Path)
	require.NoError(t, err)
	want, err := json.Marshal(s)
	require.NoError(t, err)
	got, err := json.Marshal(read)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got))
	info, err := os.Stat(filepath.Dir(s.Path))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	another := New(s.Who, "")
	assert.ErrorContains(t, another.Keep(), "another gorun, has changed it")
	require.ErrorContains(t, another.InUse(), "another gorun, has changed it")
	require.NoError(t, s.Keep(), "it is its own")

	path := s.Path
	link := path + ".link"
	for says, change := range map[string]func() (undo error){
		"is open to others: its mode is -rw-r--r--": func() error {
			require.NoError(t, os.Chmod(path, 0o644))
			return nil
		},
		"it has 2 names": func() error { return os.Link(path, link) },
		"is not a folder of yours alone: its mode is drwxrwxrwx": func() error { return os.Chmod(filepath.Dir(path), 0o777) },
	} {
		require.NoError(t, change())
		_, err := Read(path)
		assert.ErrorContains(t, err, says)
		require.NoError(t, os.Chmod(path, 0o600))
		require.NoError(t, os.Chmod(filepath.Dir(path), 0o700))
		_ = os.Remove(link)
	}
	require.NoError(t, os.Symlink(filepath.Base(path), link))
	_, err = Read(link)
	require.Error(t, err)
	require.NoError(t, os.Remove(link))
	require.NoError(t, syscall.Mkfifo(link, 0o600))
	_, err = Read(link)
	require.ErrorContains(t, err, "is no regular file")
	require.NoError(t, os.Remove(link))
	require.NoError(t, s.Drop())
	assert.NoFileExists(t, path)
	require.NoError(t, s.Drop(), "once is enough")
}

// A folder that goes away, as /run/user/UID does when the user logs out, takes no state with it that a gorun still has.
func TestFolderGoesAway(t *testing.T) {
	s := kept(t)
	path := s.Path
	require.NoError(t, os.Remove(path))
	_ = os.Remove(filepath.Dir(path)) // others may have states there
	_, err := s.PutBack()
	require.NoError(t, err)
	requireMasks(t, s.PID, had(t))
	require.NoError(t, s.Keep())
	assert.FileExists(t, s.Path)
	require.NoError(t, os.Remove(s.Path))
	require.NoError(t, s.Drop())
}

// A folder that somebody else could have made is none for states.
func TestFolderOfOthers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", "")
	own := folders()[len(folders())-1]
	require.Equal(t, os.TempDir(), filepath.Dir(own))
	for says, plant := range map[string]func() error{
		"is not a directory":     func() error { return os.Symlink(t.TempDir(), own) },
		"its mode is drwxrwxrwx": func() error { return errors.Join(os.Mkdir(own, 0o700), os.Chmod(own, 0o777)) },
		"its mode is drwxr-xr-x": func() error { return errors.Join(os.Mkdir(own, 0o700), os.Chmod(own, 0o755)) },
	} {
		require.NoError(t, plant())
		dir, err := makeFolderIn([]string{own})
		if err == nil {
			dir.Close()
		}
		require.ErrorContains(t, err, says)
		require.NoError(t, os.Remove(own))
	}
	dir, err := makeFolderIn([]string{own})
	require.NoError(t, err)
	assert.Equal(t, own, dir.Name())
	require.NoError(t, dir.Close())
}

// The states of an older gorun lay under other names in folders that others may write too, and had no start of their owner.
func TestStateOfAnOlderGorun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", "")
	one, _ := twoOf(t)
	pid := programtest.Start(t, "threads", "0").Process.Pid
	is := thread(t, pid)
	text, err := json.Marshal(map[string]any{
		"pid": pid, "start": is.Start, "name": "x", "boot": BootID(), "owner": 1 << 22, "threads": []Thread{is},
		"allowed": is.CPUs, "given": []any{map[string]any{"cpus": one}}, "masks": true, "nices": false, "scheds": false,
	})
	require.NoError(t, err)
	path := filepath.Join(os.TempDir(), "gorun-live-7.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	require.NoError(t, os.Chmod(os.TempDir(), 0o1777))
	require.NoError(t, linux.SetAffinity(pid, one))
	var out strings.Builder
	require.NoError(t, Restore(&out, path))
	assert.Contains(t, out.String(), path+": where an older gorun kept states\n")
	assert.Contains(t, out.String(), "put back")
	assert.Equal(t, is.CPUs.String(), thread(t, pid).CPUs.String())
	assert.NoFileExists(t, path)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	assert.Contains(t, states(), path)
}

// A state names only what gorun changes.
func TestStateOfSomethingElse(t *testing.T) {
	thread := Threads{{PID: 1, TID: 1}}
	for name, c := range map[string]struct {
		state State
		says  string
	}{
		"a process":        {State{Who: Who{PID: 1, Start: 1}, Threads: thread}, ""},
		"any process":      {State{Who: Who{PID: 1}, Threads: thread}, "it names nothing"},
		"a sysctl":         {State{For: "x", Files: []File{{Path: linux.NUMABalancingSysctl}}}, ""},
		"an interrupt":     {State{Threads: thread, Files: []File{{Path: "/proc/irq/7/smp_affinity_list"}}}, ""},
		"nothing":          {State{}, "it names nothing"},
		"any file":         {State{For: "x", Files: []File{{Path: "/etc/passwd"}}}, `"/etc/passwd" is no file that gorun changes`},
		"a file above":     {State{Files: []File{{Path: "/proc/irq/7/../../sys/kernel/x/smp_affinity_list"}}}, "is no file that gorun changes"},
		"a file and a PID": {State{Who: Who{PID: 1}, Threads: thread, Files: []File{{Path: "/proc/irq/7/smp_affinity_list"}}}, "is no file that gorun"},
		"a group":          {State{Who: Who{Group: "/etc"}, Threads: thread}, `"/etc" is no control group`},
		"a group's way up": {State{Who: Who{Group: "/nowhere/.."}, Threads: thread}, "is no control group"},
		"another's file":   {State{Who: Who{Group: "/gone/a"}, Threads: thread, Files: []File{{Path: "/gone/b/cpuset.cpus"}}}, "is no file that gorun"},
		"its own":          {State{Who: Who{Group: "/gone/a"}, Threads: thread, Files: []File{{Path: "/gone/a/cpuset.cpus"}}}, ""},
		"this process":     {State{Threads: Threads{{PID: 0, TID: 0}}}, "0 is no thread"},
	} {
		err := c.state.valid()
		if c.says == "" {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, c.says, name)
		}
	}
}

// Every program has a state of its own, whatever its name.
func TestStateNames(t *testing.T) {
	names := map[string]string{}
	for _, who := range []Who{{PID: 1}, {PID: 2}, {Group: "/a/b"}, {Group: "/a-b"}, {Group: strings.Repeat("/a", 500)}, {}} {
		name := New(who, "").ID()
		assert.LessOrEqual(t, len(name), 255)
		assert.NotContains(t, name, "/")
		assert.Empty(t, names[name], who)
		names[name] = who.String() + "."
	}
}

// An owner that has ended is none, also if it is a zombie, or if its number is somebody else's. What of another boot is in the way goes.
func TestOwner(t *testing.T) {
	zombie := exec.Command("true")
	require.NoError(t, zombie.Start())
	t.Cleanup(func() { _ = zombie.Wait() })
	for !linux.ChildEnded(zombie.Process.Pid) {
	}
	start := func(pid int) uint64 {
		task, err := linux.ReadTask(os.DirFS("/"), pid, pid)
		require.NoError(t, err)
		return task.Start
	}
	s := kept(t)
	path := s.Path
	for name, c := range map[string]struct {
		change func(*State)
		says   string // by InUse; "": nothing, and the file is gone
	}{
		"this process":    {func(*State) {}, "another gorun, has changed it"},
		"its number":      {func(s *State) { s.OwnerStart-- }, "it still has what a gorun gave it that was killed"},
		"a zombie":        {func(s *State) { s.Owner, s.OwnerStart = zombie.Process.Pid, start(zombie.Process.Pid) }, "that was killed"},
		"none":            {func(s *State) { s.Owner = 1 << 22 }, "that was killed"},
		"another boot":    {func(s *State) { s.Boot = "another" }, ""},
		"nothing is left": {func(s *State) { s.Owner, s.Threads = 1<<22, Threads{{PID: s.PID, TID: s.PID, Start: 1}} }, ""},
		"another program": {func(s *State) { s.Start++ }, ""},
	} {
		changed := *s
		c.change(&changed)
		changed.Path = path
		require.NoError(t, changed.Keep(), name)
		err := New(s.Who, "").InUse()
		if c.says == "" {
			assert.NoError(t, err, name)
			assert.NoFileExists(t, path, name)
			continue
		}
		assert.ErrorContains(t, err, c.says, name)
	}
}

// Restore puts back what a gorun has left, but not what one is changing, nor after another boot, nor on another process with the number.
func TestRestore(t *testing.T) {
	one, _ := twoOf(t)
	s := kept(t)
	path, pid := s.Path, s.PID
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("1"), 0o600))
	for _, c := range []struct {
		name   string
		change func(*State)
		says   string
		fails  string
		back   bool
	}{
		{"owned", func(*State) {}, "", "has changed it and runs", false},
		{"another file", func(s *State) {
			s.Owner, s.Files = 1<<22, []File{{Path: victim, Before: "changed", Given: []string{"1"}}}
		}, "", "is no file that gorun changes", false},
		{"another boot", func(s *State) { s.Boot = "another" }, "nothing to put back: the machine was started again since", "", false},
		{"another process", func(s *State) {
			s.Start, s.Owner, s.Threads = s.Start+1, 1<<22, slices.Clone(s.Threads)
			for i := range s.Threads {
				s.Threads[i].Start++
			}
		}, "put back", "", false},
		{"gone", func(s *State) { s.Namespace++ }, "nothing to put back: its PID namespace is gone", "", false},
		{"left", func(s *State) { s.Owner = 1 << 22 }, "put back", "", true},
	} {
		changed := *s
		c.change(&changed)
		changed.Path = path
		require.NoError(t, changed.Keep(), c.name)
		var out strings.Builder
		err := Restore(&out, changed.Path)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails, c.name)
			assert.FileExists(t, changed.Path, c.name)
		} else {
			require.NoError(t, err, c.name)
			assert.NoFileExists(t, changed.Path, c.name)
		}
		assert.Contains(t, out.String(), c.says, c.name)
		if c.back {
			requireMasks(t, pid, had(t))
		} else {
			requireMasks(t, pid, one)
		}
	}
}
