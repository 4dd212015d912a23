// Command dist builds what a release consists of, into a directory: for each architecture an archive, a Debian package and an RPM,
// an image for containers, a list of the components (SBOM), and the checksums of all. The same commit gives the same bytes, in any
// directory: times are that of the commit, and owners are root.
//
//	go run ./internal/dev/dist DIRECTORY
//	go run ./internal/dev/dist image FILE     the image alone, for this machine's architecture
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The programs that write packages and the SBOM, by version. They are not in go.mod: gorun does not need them.
const (
	nfpm      = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"
	cycloneDX = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"
)

// arch is an architecture with a release: its name in Go, and Debian's cross compiler for it.
type arch struct{ name, compiler string }

var arches = [...]arch{{"amd64", "x86_64-linux-gnu-gcc"}, {"arm64", "aarch64-linux-gnu-gcc"}}

// file is a file of an archive, a package or an image.
type file struct {
	path string // in the archive
	mode int64
	text []byte
}

// release is what is being built.
type release struct {
	dir     string // into which it is built
	version string // without the v of its tag
	commit  string
	time    time.Time // of the commit
	pages   []file    // the manual, below man
	shells  []file    // completions, below the names of shells' directories
	texts   []file    // licence, changes and similar
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("dist: ")
	var err error
	switch {
	case len(os.Args) == 2:
		err = build(os.Args[1])
	case len(os.Args) == 3 && os.Args[1] == "image":
		err = buildImage(os.Args[2])
	default:
		err = errors.New("usage: go run ./internal/dev/dist DIRECTORY | image FILE")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// buildImage builds the image for this machine's architecture.
func buildImage(path string) (err error) {
	var r release
	if r.dir, err = os.MkdirTemp("", "dist"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	if err := r.describe(); err != nil {
		return err
	}
	for _, a := range arches {
		if a.name != runtime.GOARCH {
			continue
		}
		gorun, err := r.compile(a)
		if err != nil {
			return err
		}
		return os.WriteFile(path, image(r, []platform{{a.name, gorun}}), 0o644)
	}
	return fmt.Errorf("there is no release for %s", runtime.GOARCH)
}

// build builds the release of the commit that is checked out in the working directory.
func build(dir string) (err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	r := release{dir: dir}
	if err := r.describe(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 { // the checksums would be of other releases, too
		return cmp.Or(err, fmt.Errorf("%s is not empty", dir))
	}
	if err := r.document(); err != nil {
		return err
	}
	var images []platform
	for _, a := range arches {
		gorun, err := r.compile(a)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("gorun-%s-linux-%s", r.version, a.name)
		all := slices.Concat([]file{gorun}, r.texts, r.pages, r.shells)
		if err := r.write(name+".tar.gz", archive(name, all, r.time)); err != nil {
			return err
		}
		if err := r.packages(a, gorun); err != nil {
			return err
		}
		images = append(images, platform{a.name, gorun})
	}
	if err := r.write("gorun-"+r.version+"-oci.tar", image(r, images)); err != nil {
		return err
	}
	if err := r.list(); err != nil {
		return err
	}
	return r.sum()
}

// describe reads the version, the commit and its time. Without a tag, the version is 0.1.0-dev.
func (r *release) describe() error {
	for _, of := range []struct {
		to   *string
		args string
	}{
		{&r.version, "describe --tags --match v[0-9]* --always --dirty"},
		{&r.commit, "rev-parse HEAD"},
	} {
		out, err := output(nil, "git", strings.Fields(of.args)...)
		if err != nil {
			return err
		}
		*of.to = strings.TrimSpace(string(out))
	}
	if tag, found := strings.CutPrefix(r.version, "v"); found {
		r.version = strings.Replace(tag, "-", "+", 1) // commits after a tag are a later build, not an earlier release
	} else {
		r.version = "0.1.0-dev+" + r.version
	}
	out, err := output(nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	r.time = time.Unix(seconds, 0).UTC()
	return err
}

// linker returns the linker's flags. Two builds differ in nothing: no build ID depends on the directory.
func (r *release) linker() string {
	return fmt.Sprintf("-s -w -buildid= -X main.version=%s -X main.revision=%s -linkmode external -extldflags '-static -Wl,--build-id=none'",
		r.version, r.commit)
}

// compile builds the static program for an architecture, whose C code Debian's cross compiler or the machine's own compiles.
func (r *release) compile(a arch) (gorun file, err error) {
	compiler := a.compiler
	if _, err := exec.LookPath(compiler); err != nil {
		return gorun, fmt.Errorf("%s is not installed (Debian: apt-get install gcc-x86-64-linux-gnu gcc-aarch64-linux-gnu libc6-dev-arm64-cross)", compiler)
	}
	path := filepath.Join(r.dir, "build", a.name, "gorun")
	_, err = output([]string{"GOOS=linux", "GOARCH=" + a.name, "CGO_ENABLED=1", "CC=" + compiler, "CGO_CFLAGS=-O2", "CGO_LDFLAGS="},
		"go", "build", "-trimpath", "-buildvcs=false", "-tags", "netgo,osusergo", "-ldflags", r.linker(), "-o", path, "./cmd/gorun")
	if err != nil {
		return gorun, err
	}
	text, err := os.ReadFile(path)
	return file{"gorun", 0o755, text}, err
}

// document makes the manual, the completions and the texts, with the program of this machine.
func (r *release) document() error {
	pages := filepath.Join(r.dir, "build", "man")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	version := fmt.Sprintf("-X main.version=%s -X main.revision=%s", r.version, r.commit)
	if _, err := output(nil, "go", "run", "-tags", "man", "-ldflags", version, "./cmd/gorun", pages); err != nil {
		return err
	}
	entries, err := os.ReadDir(pages)
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(pages, e.Name()))
		if err != nil {
			return err
		}
		section := strings.TrimPrefix(filepath.Ext(e.Name()), ".")
		r.pages = append(r.pages, file{"man/man" + section + "/" + e.Name() + ".gz", 0o644, compress(text)})
	}
	for shell, path := range completions {
		text, err := output(nil, "go", "run", "./cmd/gorun", "completion", shell)
		if err != nil {
			return err
		}
		r.shells = append(r.shells, file{path, 0o644, text})
	}
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		r.texts = append(r.texts, file{name, 0o644, text})
	}
	licences, err := thirdParty()
	r.texts = append(r.texts, file{"THIRD-PARTY-LICENSES", 0o644, licences})
	slices.SortFunc(r.shells, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return err
}

// completions are the files below /usr/share in which shells look for completions.
var completions = map[string]string{
	"bash": "bash-completion/completions/gorun", "zsh": "zsh/site-functions/_gorun", "fish": "fish/vendor_completions.d/gorun.fish",
}

// thirdParty returns the licences of the modules whose code is in the program, and of Go itself.
func thirdParty() ([]byte, error) {
	out, err := output(nil, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "./cmd/gorun")
	if err != nil {
		return nil, err
	}
	modules := strings.Split(strings.TrimSpace(string(out)), "\n")
	root, err := output(nil, "go", "env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, err
	}
	modules = append(modules, "Go "+strings.Join(strings.Fields(string(root)), " "))
	slices.Sort(modules)
	var all bytes.Buffer
	all.WriteString("gorun contains code of these modules, under these licences.\n")
	for _, module := range slices.Compact(modules) {
		fields := strings.Fields(module)
		if len(fields) != 3 {
			continue
		}
		texts, err := filepath.Glob(filepath.Join(fields[2], "[LNC]*"))
		if err != nil {
			return nil, err
		}
		found := false
		for _, path := range texts {
			name, _, _ := strings.Cut(filepath.Base(path), ".")
			if !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}, name) {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			found = true
			fmt.Fprintf(&all, "\n== %s %s: %s\n\n%s", fields[0], fields[1], filepath.Base(path), text)
		}
		if !found {
			return nil, fmt.Errorf("%s has no licence", fields[0])
		}
	}
	return all.Bytes(), nil
}

// packages makes the Debian package and the RPM of an architecture.
func (r *release) packages(a arch, gorun file) error {
	root := filepath.Join(r.dir, "build", a.name, "root")
	contents := []map[string]any{{
		"dst": "/usr/share/doc/gorun", "type": "dir",
		"file_info": map[string]any{"mode": 0o755, "mtime": r.time.Format(time.RFC3339)},
	}}
	add := func(f file, to string, only ...string) error {
		from := filepath.Join(root, to)
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return err
		}
		contents = append(contents, map[string]any{
			"packager": strings.Join(only, ""), "src": from, "dst": to, "file_info": map[string]any{"mode": f.mode, "owner": "root", "group": "root", "mtime": r.time.Format(time.RFC3339)},
		})
		return os.WriteFile(from, f.text, 0o644)
	}
	if err := add(gorun, "/usr/bin/gorun"); err != nil {
		return err
	}
	for _, f := range slices.Concat(r.pages, r.shells) {
		var only []string
		if f.path == completions["zsh"] { // the zsh of Debian looks for those of packages elsewhere
			if err := add(f, "/usr/share/zsh/vendor-completions/_gorun", "deb"); err != nil {
				return err
			}
			only = []string{"rpm"}
		}
		if err := add(f, "/usr/share/"+f.path, only...); err != nil {
			return err
		}
	}
	for _, f := range r.texts {
		name := f.path
		if name == "LICENSE" {
			name = "copyright" // where Debian looks for it
		}
		if err := add(f, "/usr/share/doc/gorun/"+name); err != nil {
			return err
		}
	}
	config, err := json.Marshal(map[string]any{ // YAML has JSON in it
		"name": "gorun", "arch": a.name, "platform": "linux", "version": r.version, "section": "utils", "priority": "optional",
		"maintainer": "The authors of gorun <gorun@localhost>", "license": "Apache-2.0", "mtime": r.time.Format(time.RFC3339),
		"description": "measure how placement affects a program\n" +
			"gorun measures how the placement of goroutines, threads, processes and memory\naffects a program, and reports which differences are real.",
		"contents": contents, "rpm": map[string]any{"buildhost": "localhost"},
	})
	if err != nil {
		return err
	}
	path := filepath.Join(r.dir, "build", a.name, "nfpm.json")
	if err := os.WriteFile(path, config, 0o644); err != nil {
		return err
	}
	for _, packager := range []string{"deb", "rpm"} {
		target := filepath.Join(r.dir, fmt.Sprintf("gorun-%s-linux-%s.%s", r.version, a.name, packager))
		date := "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.time.Unix(), 10)
		if _, err := output([]string{date}, "go", "run", nfpm, "package", "--config", path, "--packager", packager, "--target", target); err != nil {
			return err
		}
	}
	return nil
}

// list writes the SBOM.
func (r *release) list() error {
	text, err := output([]string{"GOFLAGS=-trimpath -tags=netgo,osusergo"}, "go", "run", cycloneDX, "app", "-json", "-licenses", "-std", "-noserial", "-notimestamp",
		"-main", "cmd/gorun", ".")
	if err != nil {
		return err
	}
	return r.write("gorun-"+r.version+".cdx.json", text)
}

// sum writes the checksums of the files.
func (r *release) sum() error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		if e.IsDir() || e.Name() == checksums {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return r.write(checksums, sums.Bytes())
}

const checksums = "SHA256SUMS"

func (r *release) write(name string, text []byte) error {
	return os.WriteFile(filepath.Join(r.dir, name), text, 0o644)
}

// output runs a command with additional variables, and returns what it writes to stdout.
func output(environ []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), environ...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		io.Copy(os.Stderr, &stderr)
		return nil, fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return out, nil
}
