package launch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gorun/internal/files/input"
	"gorun/internal/record/result"
)

// Limits of what is looked at before a run.
const (
	mostWords = 1000     // different words of all commands, without the first of each
	mostData  = 64 << 20 // bytes of a file that an argument names
	mostBytes = 1 << 30  // of all files
	mostName  = 255      // bytes of a file's name (NAME_MAX)
)

// Files returns the files that define what commands do, with their hashes: the programs, the interpreters of those that are scripts, and
// the files that arguments name or have in their text. So the program that a shell or taskset(1) starts is among them. Those in own have
// a name and a path already. A warning names what could not be read. An error is that of ctx.
func Files(ctx context.Context, environ []string, commands [][]string, own ...result.File) ([]result.File, []result.Warning, error) {
	f := finder{environ: environ, seen: map[string]bool{}, left: mostBytes}
	for _, argv := range commands {
		f.program(ctx, argv, true)
	}
	for _, of := range own {
		f.add(ctx, of)
	}
	for _, argv := range commands {
		f.arguments(ctx, argv)
	}
	if len(f.seen) > mostWords {
		f.unknown = append(f.unknown, fmt.Sprintf("the files that follow the first %d arguments", mostWords))
	}
	var warnings []result.Warning
	if len(f.unknown) > 0 {
		warnings = []result.Warning{{
			Code: "file-unknown", Message: "--resume cannot know whether these have changed: " + strings.Join(f.unknown, "; "),
		}}
	}
	return f.files, warnings, ctx.Err()
}

// finder finds the files of commands.
type finder struct {
	environ []string
	files   []result.File
	unknown []string        // files that could not be read, with the reason
	seen    map[string]bool // words of arguments
	left    int64           // bytes that may still be read
}

// program adds the file that a command starts. certain: it is no argument that may be a command.
func (f *finder) program(ctx context.Context, argv []string, certain bool) {
	if path, err := find(argv, f.environ); err == nil {
		f.add(ctx, result.File{Name: argv[0], Path: path, Program: certain})
	}
}

// arguments adds the files that the arguments of a command name, or words in their text.
func (f *finder) arguments(ctx context.Context, argv []string) {
	for _, arg := range argv[min(1, len(argv)):] {
		f.argument(ctx, arg)
		for word := range strings.FieldsFuncSeq(arg, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;&|<>(){}$=,:", r) }) {
			f.argument(ctx, word)
		}
	}
}

// argument adds the file that a word names, or if there is none, the one that would be started by it.
func (f *finder) argument(ctx context.Context, word string) {
	if f.seen[word] || len(f.seen) > mostWords {
		return
	}
	f.seen[word] = true
	if _, err := os.Stat(word); err == nil {
		f.add(ctx, result.File{Name: word, Path: word})
	} else if len(word) <= mostName {
		f.program(ctx, []string{word}, false)
	}
}

// add adds a regular file, and what a script is run by. What could have no end, or wait for one, is not read: a file of no size may be
// the kernel's.
func (f *finder) add(ctx context.Context, of result.File) {
	path := of.Path
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || slices.ContainsFunc(f.files, of.Is) || ctx.Err() != nil {
		return
	}
	of.Modified = info.ModTime().UTC().Format(time.RFC3339Nano)
	if whole, err := filepath.Abs(path); err == nil {
		of.Path = whole
	}
	if whole, err := filepath.EvalSymlinks(of.Path); err == nil {
		of.Path = whole
	}
	most := f.left
	if !of.Program {
		most = min(most, mostData)
	}
	if info.Size() == 0 {
		of.SHA256 = fmt.Sprintf("%x", sha256.Sum256(nil))
	} else if of.SHA256, err = (input.Opener{}).SHA256(ctx, path, most); err == nil {
		f.left -= info.Size()
	} else if ctx.Err() == nil {
		f.unknown = append(f.unknown, err.Error())
	}
	f.files = append(f.files, of)
	if runnable(path) == nil && info.Size() > 0 {
		words, _ := interpreter(ctx, path) // an error is that of reading it
		f.program(ctx, words, of.Program)
		f.arguments(ctx, words)
	}
}
