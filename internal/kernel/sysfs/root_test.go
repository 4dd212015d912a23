package sysfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// put writes a file under dir, and creates the directories above it.
func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func link(t *testing.T, dir, name, target string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.Symlink(target, path))
}

// A recorded tree may have the links of /sys; none of them leads to this machine.
func TestOpenRootFollowsLinksInside(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "secret", "the host's own")
	put(t, outside, "sys/value", "the host's own")
	dir := filepath.Join(outside, "tree")
	put(t, dir, "sys/devices/cpu/cpu0/value", "7")
	link(t, dir, "sys/relative", "devices/cpu/cpu0")
	link(t, dir, "sys/up", "../sys/devices/cpu")
	link(t, dir, "sys/absolute", "/sys/devices/cpu/cpu0/value")
	link(t, dir, "sys/chain", "/sys/relative")
	link(t, dir, "sys/based", dir+"/sys/devices/cpu/cpu0/value")
	link(t, dir, "sys/devices/back", "cpu/cpu0/../../../relative/value") // ".." of where the links before it lead
	link(t, dir, "sys/devices/cpu/cpu0/loop", ".")
	link(t, dir, "node/far/cpu0", "/sys/devices/cpu/cpu0")
	link(t, dir, "node/near", "far/cpu0/..") // that is /sys/devices/cpu, not node/far

	link(t, dir, "sys/dangling", "/sys/devices/none")
	link(t, dir, "sys/host", "/secret")
	link(t, dir, "sys/escape", "../../secret")
	link(t, dir, "sys/escape-dir", "../..")
	link(t, dir, "sys/escape-and-return", "../../tree/sys/devices/cpu/cpu0/value")
	link(t, dir, "sys/circle", "circle")
	link(t, dir, "sys/a", "/sys/b")
	link(t, dir, "sys/b", "a")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "sys/pipe"), 0o644))

	fsys, err := OpenRoot(dir)
	require.NoError(t, err)
	for _, name := range []string{
		"sys/devices/cpu/cpu0/value", "sys/relative/value", "sys/up/cpu0/value", "sys/absolute", "sys/chain/value",
		"sys/based", "sys/devices/back", "sys/devices/cpu/cpu0/loop/loop/value", "node/far/cpu0/value",
		"node/near/cpu0/value",
	} {
		n, err := ReadInt(fsys, name)
		require.NoError(t, err, name)
		assert.Equal(t, 7, n, name)
	}
	entries, err := fs.ReadDir(fsys, "sys/up")
	require.NoError(t, err)
	assert.Len(t, entries, 1)

	for _, name := range []string{"sys/none", "sys/none/below", "sys/dangling", "sys/host"} {
		_, err := ReadString(fsys, name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
	}
	const escapes, loop = "the link leaves the recorded tree", "too many links"
	for name, want := range map[string]string{
		"sys/escape": escapes, "sys/escape-dir/secret": escapes, "sys/escape-and-return": escapes,
		"sys/circle": loop, "sys/a": loop, "sys/a/x": loop,
	} {
		_, err := ReadString(fsys, name)
		require.ErrorContains(t, err, want, name)
		assert.NotErrorIs(t, err, fs.ErrNotExist)
		assert.ErrorContains(t, err, name)
	}
	_, err = ReadString(fsys, "sys/pipe")
	require.ErrorContains(t, err, "neither a file nor a directory")
	_, err = fsys.Open("../secret")
	require.ErrorIs(t, err, fs.ErrInvalid)
}

func TestOpenRootKinds(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "tree/sys/x", "1\n")
	put(t, dir, "empty/proc/x", "1\n")
	put(t, dir, "file-as-sys/sys", "1\n")
	put(t, dir, "m.txtar", "a comment\n-- sys/x --\n1\n")
	put(t, dir, "no-files.txtar", "only words\n")
	put(t, dir, "twice.txtar", "-- sys/x --\n1\n-- sys/x --\n2\n")
	put(t, dir, "outside.txtar", "-- ../x --\n1\n")
	put(t, dir, "m.tar", "")
	link(t, dir, "linked", "tree")

	for _, name := range []string{"tree", "m.txtar", "linked"} {
		fsys, err := OpenRoot(filepath.Join(dir, name))
		require.NoError(t, err, name)
		n, err := ReadInt(fsys, "sys/x")
		require.NoError(t, err, name)
		assert.Equal(t, 1, n)
	}
	this, err := OpenRoot("/")
	require.NoError(t, err)
	assert.Equal(t, This(), this)
	for name, want := range map[string]string{
		"none":           "no such file",
		"empty":          "holds no recorded machine",
		"file-as-sys":    "sys is not a directory",
		"no-files.txtar": "holds no recorded machine",
		"twice.txtar":    "duplicate",
		"outside.txtar":  "invalid path",
		"m.tar":          "neither a directory nor a .txtar file",
	} {
		_, err := OpenRoot(filepath.Join(dir, name))
		require.ErrorContains(t, err, want, name)
		assert.ErrorContains(t, err, filepath.Join(dir, name), "the path is named")
	}
}

// A link reads as its target, from a directory with the link and from an archive with the target in a file.
func TestReadLink(t *testing.T) {
	dir := t.TempDir()
	link(t, dir, "sys/net", "class/net")
	link(t, dir, "sys/class/net/eth0", "../../devices/none/eth0")
	put(t, dir, "sys/class/net/eth1", "../../devices/none/eth1\n")
	recorded, err := OpenRoot(dir)
	require.NoError(t, err)
	for name, fsys := range map[string]fs.FS{"recorded": recorded, "this": os.DirFS(dir)} {
		for file, want := range map[string]string{
			"sys/class/net/eth0": "../../devices/none/eth0", "sys/class/net/eth1": "../../devices/none/eth1",
			"sys/net/eth0": "../../devices/none/eth0",
		} {
			got, err := ReadLink(fsys, file)
			require.NoError(t, err, "%s, %s", name, file)
			assert.Equal(t, want, got, "%s, %s", name, file)
		}
		_, err := ReadLink(fsys, "sys/class/net/eth2")
		require.ErrorIs(t, err, fs.ErrNotExist, name)
		_, err = ReadLink(fsys, "/sys")
		require.Error(t, err, name)
	}
}
