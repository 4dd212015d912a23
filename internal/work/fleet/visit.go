// Package fleet is `gorun fleet`: it measures one machine in a short visit, and judges the visits of many machines. It schedules
// nothing: files in, files out.
package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/files/jsonl"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

// Schema names the version of the lines of a visit's file. A new key does not change it.
const Schema = "gorun-fleet/v1"

// Line is a line of a visit's file, which has one of these. Package jsonl adds its checksum. The file is DIR/NODE/BOOT/TIME.jsonl; while
// the visit lasts, and for ever if it is killed, its name ends in .part.
type Line struct {
	Visit   *Header  `json:"visit,omitempty"` // the first line
	Measure *Measure `json:"measure,omitempty"`
	Missing *Missing `json:"missing,omitempty"`
	End     *End     `json:"end,omitempty"` // the last line
}

// Header says what was visited, when and by which gorun.
type Header struct {
	Schema  string      `json:"schema"`
	Node    string      `json:"node"`
	Started string      `json:"started"` // RFC 3339, UTC
	Budget  float64     `json:"budget_seconds"`
	Seed    uint64      `json:"seed"` // of the order of the measures
	Tool    result.Tool `json:"tool"`
	Host    result.Host `json:"host"`
	// Settings are the conditions of `gorun doctor` that are not as they should be, by name.
	Settings map[string]string `json:"settings,omitempty"`
}

// Measure is what one measure of the battery found. Of several parts of the machine, it is that of the worst.
type Measure struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`   // of column.Unit
	Better  string    `json:"better"` // result.Lower or result.Higher
	Figure  float64   `json:"figure"` // the best of the samples: the others were disturbed
	Samples []float64 `json:"samples"`
	Part    string    `json:"part,omitempty"` // "CPU 3"
	Parts   int       `json:"parts"`          // the number of parts that were measured
	Seconds float64   `json:"seconds"`        // that it took
	Wrong   []string  `json:"wrong,omitempty"`
	Doubts  []string  `json:"doubts,omitempty"` // what disturbed it
}

// Missing is a measure that this visit does not have, with the reason.
type Missing struct {
	Name   string   `json:"name"`
	Reason string   `json:"reason"`
	Wrong  []string `json:"wrong,omitempty"` // results that were computed wrongly
}

// End is the end of a visit.
type End struct {
	Ended   string  `json:"ended"` // RFC 3339, UTC
	Seconds float64 `json:"seconds"`
}

// CheckNode returns an error if a name is none of a node.
func CheckNode(name string) error {
	if !isName(name) {
		return hint.Flag("node", name, hint.With(errors.New("it names a directory below --out, and "+nameRule), "give --node another name"))
	}
	return nil
}

// nameRule says what isName allows.
const nameRule = "has letters, digits and . _ : % - only, begins with neither . nor -, and is not ALL"

// longestName is that of a file, in bytes.
const longestName = 255

// isName reports whether a text can be the name of a node. It names a folder, and is a word of lines that an administrator runs, in which
// Slurm would take brackets, commas and ALL for many nodes, and kubectl a leading - for a flag.
func isName(text string) bool {
	const others = "._:%-"
	is := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(others, r)
	}
	return text != "" && len(text) <= longestName && text[0] != '.' && text[0] != '-' && !strings.EqualFold(text, "all") &&
		strings.IndexFunc(text, func(r rune) bool { return !is(r) }) < 0
}

// partial is the end of the name of a file whose visit has not ended.
const partial = ".part"

// visitFile is the file of a visit in progress.
type visitFile struct {
	file *os.File
	dir  *os.Root // its folder
	name string   // at the end of the visit
	path string   // at the end of the visit
}

// createFile creates the file of a visit that begins now, below a folder of folders, DIR/NODE/BOOT. Neither a lock nor a link is needed,
// so that it can be on NFS. DIR is the user's choice; below it, others may write: a link there would lead the visit elsewhere.
func createFile(dir, node, boot string, now time.Time) (*visitFile, error) {
	err := os.MkdirAll(dir, 0o777)
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, unwritable(filepath.Join(dir, node, boot), err)
	}
	for _, name := range []string{node, boot} {
		dir = filepath.Join(dir, name)
		below, err := enter(root, name)
		_ = root.Close()
		if err != nil {
			return nil, unwritable(dir, err)
		}
		root = below
	}
	f, err := createIn(root, now)
	if err != nil {
		_ = root.Close()
		return nil, unwritable(dir, err)
	}
	f.path = filepath.Join(dir, f.name)
	return f, nil
}

// enter opens a folder, which it makes if there is none. It is an error if it is a link.
func enter(root *os.Root, name string) (*os.Root, error) {
	if err := root.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	is, err := root.Lstat(name)
	if err == nil && !is.IsDir() {
		err = errors.New("it is no folder, or a link to one, which is not followed")
	}
	if err != nil {
		return nil, err
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(is, opened) {
		err = errors.New("it was replaced meanwhile")
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// createIn creates the file in its folder.
func createIn(dir *os.Root, now time.Time) (*visitFile, error) {
	for ; ; now = now.Add(time.Nanosecond) { // another visit may have begun at the same moment
		name := now.UTC().Format("20060102T150405.000000000Z") + ".jsonl"
		file, err := dir.OpenFile(name+partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, err := dir.Lstat(name); !errors.Is(err, fs.ErrNotExist) { // that of a visit which has ended
			_ = file.Close()
			_ = dir.Remove(name + partial)
			continue
		}
		return &visitFile{file: file, dir: dir, name: name}, nil
	}
}

// unwritable is the error for a file that cannot be made.
func unwritable(path string, err error) error {
	return hint.Usagef("--out: cannot make %s: %w", path, hint.With(bare(err), cmp.Or(linux.Remedy(err), "name a directory that you may write")))
}

// write writes a line as a whole.
func (f *visitFile) write(line Line) error {
	text, err := jsonl.Marshal(line)
	if err == nil {
		_, err = f.file.Write(text)
	}
	return f.failed(err)
}

// sync waits until all lines are on the disk. A file system over a network may report only now that it is full.
func (f *visitFile) sync() error { return f.failed(f.file.Sync()) }

// discard removes a file that has no whole line.
func (f *visitFile) discard() {
	_ = f.file.Close()
	_ = f.dir.Remove(f.name + partial)
	_ = f.dir.Close()
}

// leave closes the file under the name that it has while the visit lasts.
func (f *visitFile) leave() error {
	return cmp.Or(f.sync(), f.failed(f.file.Close()), f.failed(f.dir.Close()))
}

// finish gives the file its final name.
func (f *visitFile) finish() error {
	defer f.dir.Close()
	err := f.sync()
	if err == nil {
		err = f.failed(f.file.Close())
	}
	if err == nil {
		err = f.failed(f.dir.Rename(f.name+partial, f.name))
	}
	if err != nil {
		return err
	}
	dir, err := f.dir.Open(".")
	if err != nil {
		return f.failed(err)
	}
	defer dir.Close()
	return f.failed(dir.Sync())
}

func (f *visitFile) failed(err error) error {
	if err == nil {
		return nil
	}
	return hint.With(fmt.Errorf("--out: cannot write %s: %w", f.path+partial, bare(err)),
		"make room on its file system, or name another directory")
}

// bare returns an error without its path.
func bare(err error) error {
	var of *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &of):
		return of.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
