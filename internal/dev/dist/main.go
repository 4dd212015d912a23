// Command dist builds what a release consists of, into a directory: for each architecture an archive, a Debian package and an RPM,
// an image for containers, a list of the components (SBOM), and the checksums of all. The same commit gives the same bytes, in any
// directory: times are that of the commit, and owners are root.
//
//	go run ./internal/dev/dist DIRECTORY
//	go run ./internal/dev/dist image FILE     the image alone, for this machine's architecture
package main

import (
	"bytes"
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
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case failure:
			log.Fatal(failed.error)
		default:
			panic(failed)
		}
	}()
	switch {
	case len(os.Args) == 2:
		build(os.Args[1])
	case len(os.Args) == 3 && os.Args[1] == "image":
		buildImage(os.Args[2])
	default:
		must(errors.New("usage: go run ./internal/dev/dist DIRECTORY | image FILE"))
	}
}

// failure is an error that ends the program: no function goes on after one.
type failure struct{ error }

func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// got returns the value of a call that must not fail.
func got[T any](value T, err error) T {
	must(err)
	return value
}

// buildImage builds the image for this machine's architecture.
func buildImage(path string) {
	r := release{dir: got(os.MkdirTemp("", "dist"))}
	defer os.RemoveAll(r.dir)
	r.describe()
	i := slices.IndexFunc(arches[:], func(a arch) bool { return a.name == runtime.GOARCH })
	if i < 0 {
		must(fmt.Errorf("there is no release for %s", runtime.GOARCH))
	}
	must(os.WriteFile(path, image(r, []platform{{runtime.GOARCH, r.compile(arches[i])}}), 0o644))
}

// build builds the release of the commit that is checked out in the working directory.
func build(dir string) {
	r := release{dir: got(filepath.Abs(dir))}
	r.describe()
	must(os.MkdirAll(r.dir, 0o755))
	if files := got(os.ReadDir(r.dir)); len(files) > 0 { // the checksums would be of other releases, too
		must(fmt.Errorf("%s is not empty", r.dir))
	}
	r.document()
	var images []platform
	for _, a := range arches {
		gorun := r.compile(a)
		name := fmt.Sprintf("gorun-%s-linux-%s", r.version, a.name)
		all := slices.Concat([]file{gorun}, r.texts, r.pages, r.shells)
		r.write(name+".tar.gz", archive(name, all, r.time))
		r.packages(a, gorun)
		images = append(images, platform{a.name, gorun})
	}
	r.write("gorun-"+r.version+"-oci.tar", image(r, images))
	r.list()
	r.sum()
}

// describe reads the version, the commit and its time. Without a tag, the version is 0.1.0-dev.
func (r *release) describe() {
	git := func(args string) string {
		return strings.TrimSpace(string(output(nil, "git", strings.Fields(args)...)))
	}
	r.version, r.commit = git("describe --tags --match v[0-9]* --always --dirty"), git("rev-parse HEAD")
	if tag, found := strings.CutPrefix(r.version, "v"); found {
		r.version = strings.Replace(tag, "-", "+", 1) // commits after a tag are a later build, not an earlier release
	} else {
		r.version = "0.1.0-dev+" + r.version
	}
	r.time = time.Unix(got(strconv.ParseInt(git("log -1 --format=%ct"), 10, 64)), 0).UTC()
}

// linker returns the linker's flags. Two builds differ in nothing: no build ID depends on the directory.
func (r *release) linker() string {
	return fmt.Sprintf("-s -w -buildid= -X main.version=%s -X main.revision=%s -linkmode external -extldflags '-static -Wl,--build-id=none'",
		r.version, r.commit)
}

// compile builds the static program for an architecture, whose C code Debian's cross compiler or the machine's own compiles.
func (r *release) compile(a arch) file {
	compiler := a.compiler
	if _, err := exec.LookPath(compiler); err != nil {
		must(fmt.Errorf("%s is not installed (Debian: apt-get install gcc-x86-64-linux-gnu gcc-aarch64-linux-gnu libc6-dev-arm64-cross)", compiler))
	}
	path := filepath.Join(r.dir, "build", a.name, "gorun")
	output([]string{"GOOS=linux", "GOARCH=" + a.name, "CGO_ENABLED=1", "CC=" + compiler, "CGO_CFLAGS=-O2", "CGO_LDFLAGS="},
		"go", "build", "-trimpath", "-buildvcs=false", "-tags", "netgo,osusergo", "-ldflags", r.linker(), "-o", path, "./cmd/gorun")
	return file{"gorun", 0o755, got(os.ReadFile(path))}
}

// document makes the manual, the completions and the texts, with the program of this machine.
func (r *release) document() {
	pages := filepath.Join(r.dir, "build", "man")
	must(os.MkdirAll(pages, 0o755))
	version := fmt.Sprintf("-X main.version=%s -X main.revision=%s", r.version, r.commit)
	output(nil, "go", "run", "-tags", "man", "-ldflags", version, "./cmd/gorun", pages)
	for _, e := range got(os.ReadDir(pages)) {
		text := got(os.ReadFile(filepath.Join(pages, e.Name())))
		section := strings.TrimPrefix(filepath.Ext(e.Name()), ".")
		r.pages = append(r.pages, file{"man/man" + section + "/" + e.Name() + ".gz", 0o644, compress(text)})
	}
	for shell, path := range completions {
		r.shells = append(r.shells, file{path, 0o644, output(nil, "go", "run", "./cmd/gorun", "completion", shell)})
	}
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md"} {
		r.texts = append(r.texts, file{name, 0o644, got(os.ReadFile(name))})
	}
	r.texts = append(r.texts, file{"THIRD-PARTY-LICENSES", 0o644, thirdParty()})
	slices.SortFunc(r.shells, func(a, b file) int { return strings.Compare(a.path, b.path) })
}

// completions are the files below /usr/share in which shells look for completions.
var completions = map[string]string{
	"bash": "bash-completion/completions/gorun", "zsh": "zsh/site-functions/_gorun", "fish": "fish/vendor_completions.d/gorun.fish",
}

// thirdParty returns the licences of the modules whose code is in the program, and of Go itself.
func thirdParty() []byte {
	out := output(nil, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "./cmd/gorun")
	modules := strings.Split(strings.TrimSpace(string(out)), "\n")
	root := output(nil, "go", "env", "GOVERSION", "GOROOT")
	modules = append(modules, "Go "+strings.Join(strings.Fields(string(root)), " "))
	slices.Sort(modules)
	var all bytes.Buffer
	all.WriteString("gorun contains code of these modules, under these licences.\n")
	for _, module := range slices.Compact(modules) {
		fields := strings.Fields(module)
		if len(fields) != 3 {
			continue
		}
		found := false
		for _, path := range got(filepath.Glob(filepath.Join(fields[2], "[LNC]*"))) {
			name, _, _ := strings.Cut(filepath.Base(path), ".")
			if !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}, name) {
				continue
			}
			found = true
			fmt.Fprintf(&all, "\n== %s %s: %s\n\n%s", fields[0], fields[1], filepath.Base(path), got(os.ReadFile(path)))
		}
		if !found {
			must(fmt.Errorf("%s has no licence", fields[0]))
		}
	}
	return all.Bytes()
}

// packages makes the Debian package and the RPM of an architecture.
func (r *release) packages(a arch, gorun file) {
	root := filepath.Join(r.dir, "build", a.name, "root")
	contents := []map[string]any{{
		"dst": "/usr/share/doc/gorun", "type": "dir",
		"file_info": map[string]any{"mode": 0o755, "mtime": r.time.Format(time.RFC3339)},
	}}
	add := func(f file, to string, only ...string) {
		from := filepath.Join(root, to)
		must(os.MkdirAll(filepath.Dir(from), 0o755))
		contents = append(contents, map[string]any{
			"packager": strings.Join(only, ""), "src": from, "dst": to, "file_info": map[string]any{"mode": f.mode, "owner": "root", "group": "root", "mtime": r.time.Format(time.RFC3339)},
		})
		must(os.WriteFile(from, f.text, 0o644))
	}
	add(gorun, "/usr/bin/gorun")
	for _, f := range slices.Concat(r.pages, r.shells) {
		var only []string
		if f.path == completions["zsh"] { // the zsh of Debian looks for those of packages elsewhere
			add(f, "/usr/share/zsh/vendor-completions/_gorun", "deb")
			only = []string{"rpm"}
		}
		add(f, "/usr/share/"+f.path, only...)
	}
	for _, f := range r.texts {
		name := f.path
		if name == "LICENSE" {
			name = "copyright" // where Debian looks for it
		}
		add(f, "/usr/share/doc/gorun/"+name)
	}
	config := got(json.Marshal(map[string]any{ // YAML has JSON in it
		"name": "gorun", "arch": a.name, "platform": "linux", "version": r.version, "section": "utils", "priority": "optional",
		"maintainer": "The authors of gorun <gorun@localhost>", "license": "Apache-2.0", "mtime": r.time.Format(time.RFC3339),
		"description": "measure how placement affects a program\n" +
			"gorun measures how the placement of goroutines, threads, processes and memory\naffects a program, and reports which differences are real.",
		"contents": contents, "rpm": map[string]any{"buildhost": "localhost"},
	}))
	path := filepath.Join(r.dir, "build", a.name, "nfpm.json")
	must(os.WriteFile(path, config, 0o644))
	for _, packager := range []string{"deb", "rpm"} {
		target := filepath.Join(r.dir, fmt.Sprintf("gorun-%s-linux-%s.%s", r.version, a.name, packager))
		date := "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.time.Unix(), 10)
		output([]string{date}, "go", "run", nfpm, "package", "--config", path, "--packager", packager, "--target", target)
	}
}

// list writes the SBOM.
func (r *release) list() {
	text := output([]string{"GOFLAGS=-trimpath -tags=netgo,osusergo"}, "go", "run", cycloneDX, "app", "-json", "-licenses", "-std", "-noserial", "-notimestamp",
		"-main", "cmd/gorun", ".")
	r.write("gorun-"+r.version+".cdx.json", text)
}

// sum writes the checksums of the files.
func (r *release) sum() {
	var sums bytes.Buffer
	for _, e := range got(os.ReadDir(r.dir)) {
		if e.IsDir() || e.Name() == checksums {
			continue
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(got(os.ReadFile(filepath.Join(r.dir, e.Name())))), e.Name())
	}
	r.write(checksums, sums.Bytes())
}

const checksums = "SHA256SUMS"

func (r *release) write(name string, text []byte) {
	must(os.WriteFile(filepath.Join(r.dir, name), text, 0o644))
}

// output runs a command with additional variables, and returns what it writes to stdout.
func output(environ []string, name string, args ...string) []byte {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), environ...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		io.Copy(os.Stderr, &stderr)
		must(fmt.Errorf("%s %s: %w", name, args[0], err))
	}
	return out
}
