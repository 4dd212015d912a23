package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
)

// run runs a command in a directory, and returns what it writes.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
	return string(out)
}

// only returns the path of the only file of a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	paths := tests.Glob(t, pattern)
	require.Len(t, paths, 1, pattern)
	return paths[0]
}

// The release of the present commit: two builds in different directories are equal. Each package works, and leaves nothing when it is removed.
func TestDist(t *testing.T) {
	tests.Target(t, "dist-test")
	root := strings.TrimSpace(run(t, ".", "git", "rev-parse", "--show-toplevel"))
	dirs := make([]string, 2)
	for i, below := range []string{"a", "some/where/else"} {
		clone := filepath.Join(t.TempDir(), below)
		run(t, root, "git", "clone", "-q", root, clone)
		dirs[i] = filepath.Join(t.TempDir(), "dist")
		run(t, clone, "go", "run", "./internal/dev/dist", dirs[i])
	}
	first := tests.Read(t, filepath.Join(dirs[0], checksums))
	second := tests.Read(t, filepath.Join(dirs[1], checksums))
	assert.Equal(t, string(first), string(second), "two builds of one commit")
	run(t, dirs[0], "sha256sum", "--quiet", "--check", checksums)

	t.Run("components", func(t *testing.T) {
		text := tests.Read(t, only(t, dirs[0]+"/*.cdx.json"))
		var bom struct {
			BOMFormat  string
			Components []struct{ Name string }
		}
		require.NoError(t, json.Unmarshal(text, &bom))
		assert.Equal(t, "CycloneDX", bom.BOMFormat)
		var names []string
		for _, c := range bom.Components {
			names = append(names, c.Name)
		}
		assert.Subset(t, names, []string{"github.com/spf13/cobra", "github.com/prometheus/client_golang", "std"})
		assert.NotContains(t, names, "github.com/stretchr/testify", "tests are not in the program")
	})
	t.Run("deb", func(t *testing.T) { installDeb(t, only(t, dirs[0]+"/*-"+runtime.GOARCH+".deb")) })
	t.Run("rpm", func(t *testing.T) {
		tests.Root(t)
		tests.Tools(t, "rpm")
		dir := t.TempDir()
		run(t, ".", "rpm", "--install", "--nodeps", "--root", dir, only(t, dirs[0]+"/*-"+runtime.GOARCH+".rpm"))
		assert.FileExists(t, dir+"/usr/share/man/man1/gorun-primes.1.gz")
		assert.Contains(t, run(t, ".", dir+"/usr/bin/gorun", "version"), "linux/"+runtime.GOARCH+"\n")
		run(t, ".", "rpm", "--erase", "--root", dir, "gorun")
		assert.NoFileExists(t, dir+"/usr/bin/gorun")
		assert.NoDirExists(t, dir+"/usr/share/doc/gorun")
	})
	t.Run("arm64", func(t *testing.T) {
		tests.Tools(t, "qemu-aarch64-static")
		dir := t.TempDir()
		run(t, dir, "tar", "xzf", only(t, dirs[0]+"/*-arm64.tar.gz"), "--strip-components=1")
		assert.Contains(t, run(t, dir, "qemu-aarch64-static", "./gorun", "version"), "linux/arm64\n")
		assert.Regexp(t, counted, run(t, dir, "qemu-aarch64-static", "./gorun", "primes", "--limit", "10000", "--workers", "4", "--samples", "1"))
		licences := tests.Read(t, filepath.Join(dir, "THIRD-PARTY-LICENSES"))
		for _, module := range []string{"github.com/spf13/cobra", "github.com/prometheus/client_golang", "Go go1."} {
			assert.Contains(t, string(licences), "== "+module)
		}
	})
	t.Run("push", func(t *testing.T) { // as into a registry
		tests.Tools(t, "skopeo")
		run(t, ".", "skopeo", "copy", "oci-archive:"+only(t, dirs[0]+"/*-oci.tar"), "dir:"+t.TempDir())
	})
	t.Run("image", func(t *testing.T) { runImage(t, only(t, dirs[0]+"/*-oci.tar")) })
}

// The module's path is changed everywhere: everything builds under its new path.
func TestModule(t *testing.T) {
	tests.Target(t, "dist-test")
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, ".", "git", "clone", "-q", strings.TrimSpace(run(t, ".", "git", "rev-parse", "--show-toplevel")), clone)
	run(t, clone, "make", "module", "MODULE=example.org/tools/gorun")
	run(t, clone, "go", "vet", "./...")
	run(t, clone, "go", "test", "./cmd/gorun", "-run", "TestImports")
	left := exec.Command("git", "grep", "-nE", `"gorun/(internal|csrc|cmd)`, "--", "*.go", ".depguard.yml")
	left.Dir = clone
	out, _ := left.CombinedOutput() // it fails where it finds nothing
	assert.Empty(t, string(out))
}

// installDeb installs a Debian package, uses what is in it, and removes it.
func installDeb(t *testing.T, deb string) {
	tests.Root(t)
	tests.Tools(t, "dpkg", "man", "bash")
	if path, err := exec.LookPath("gorun"); err == nil {
		t.Skip("needs a machine without " + path)
	}
	t.Cleanup(func() { _ = exec.Command("dpkg", "--purge", "gorun").Run() })
	run(t, "/", "dpkg", "--path-include=/usr/share/*", "--install", deb) // images for containers leave manuals out
	files := strings.Fields(run(t, "/", "dpkg", "-L", "gorun"))
	assert.Subset(t, files, []string{"/usr/share/doc/gorun/copyright", "/usr/share/zsh/vendor-completions/_gorun"})
	assert.NotContains(t, files, "/usr/share/zsh/site-functions/_gorun")
	assert.Regexp(t, counted, run(t, "/", "gorun", "primes", "--limit", "10000", "--samples", "1"))
	assert.Equal(t, "it runs\n", run(t, "/", "gorun", "exec", "--placement", "one-cpu", "--", "echo", "it", "runs"))
	assert.Contains(t, strings.Join(strings.Fields(run(t, "/", "man", "-P", "cat", "gorun")), " "), "gorun answers, with")
	assert.Contains(t, run(t, "/", "man", "-P", "cat", "gorun-verdicts"), "slower")
	completed := run(t, "/", "bash", "-c", `. /usr/share/bash-completion/bash_completion; . /usr/share/bash-completion/completions/gorun
COMP_LINE='gorun prim' COMP_POINT=10 COMP_TYPE=9 COMP_KEY=9 COMP_WORDS=(gorun prim) COMP_CWORD=1
__start_gorun gorun prim gorun 2>/dev/null; echo "${COMPREPLY[*]}"`)
	assert.Equal(t, "primes", strings.TrimSpace(completed))
	run(t, "/", "dpkg", "--remove", "gorun")
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			assert.True(t, info.IsDir() && !strings.Contains(file, "gorun"), "%s is left", file)
		}
	}
}

// runImage unpacks the layers of an image for this architecture, and runs it as nobody in it.
func runImage(t *testing.T, path string) {
	tests.Root(t)
	tests.Tools(t, "unshare", "chroot")
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(20<<20))
	text := tests.Read(t, path)
	blobs := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		blobs[h.Name], err = io.ReadAll(r)
		require.NoError(t, err)
	}
	type manifest struct {
		Manifests, Layers []descriptor
		Config            descriptor
	}
	read := func(text []byte, to any) { require.NoError(t, json.Unmarshal(text, to)) }
	blob := func(d descriptor) []byte {
		require.Len(t, blobs[strings.Replace(d.Digest, "sha256:", "blobs/sha256/", 1)], d.Size)
		return blobs[strings.Replace(d.Digest, "sha256:", "blobs/sha256/", 1)]
	}
	var index, all, one manifest
	read(blobs["index.json"], &index)
	read(blob(index.Manifests[0]), &all)
	ours := slices.IndexFunc(all.Manifests, func(d descriptor) bool { return d.Platform["architecture"] == runtime.GOARCH })
	require.GreaterOrEqual(t, ours, 0)
	read(blob(all.Manifests[ours]), &one)
	var config struct {
		Config struct {
			User       string
			Entrypoint []string
		}
	}
	read(blob(one.Config), &config)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	for _, layer := range one.Layers {
		r, err := gzip.NewReader(bytes.NewReader(blob(layer)))
		require.NoError(t, err)
		cmd := exec.Command("tar", "x", "-C", dir)
		cmd.Stdin = r
		require.NoError(t, cmd.Run())
	}
	for _, name := range []string{"proc", "sys", "dev"} { // as a container has them
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	out := run(t, "/", "unshare", "--mount", "sh", "-c", `for i in proc sys dev; do mount --rbind /$i "$0/$i"; done
exec chroot --userspec="$1" "$0" "$2" primes --limit 10000 --samples 1`, dir, config.Config.User, config.Config.Entrypoint[0])
	assert.Regexp(t, counted, out)
}

// counted matches the number of primes up to 10000.
const counted = `primes +1229\n`
