package fleet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/files/jsonl"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
)

// visit is what the judge keeps of a visit's file.
type visit struct {
	path      string
	node      string
	on        *machine
	start     time.Time
	end       time.Time
	modified  time.Time
	cut       bool // it was killed, or has not ended
	figures   []figure
	wrong     []string
	disturbed int
}

// machine is what a visit says of its machine. Visits of a node that say the same share it.
type machine struct {
	said
	cpus  cpuset.Set
	alike Alike
}

// said is the part of a header that is about the machine.
type said struct {
	host     result.Host
	tool     result.Tool
	settings map[string]string
}

// figure is what a visit found in one measure.
type figure struct {
	of    *measureInfo
	value float64
	part  string
}

// measureInfo is what a visit says of a measure. Visits that say the same share it.
type measureInfo struct {
	name, unit string
	higher     bool // is better
	one        bool // of the few that every gorun like this one has
}

// better is the direction in which the measure is better.
func (m *measureInfo) better() string {
	if m.higher {
		return result.Higher
	}
	return result.Lower
}

// log returns the log of a time, or the negative one of a rate: less is better.
func (f figure) log() float64 {
	if f.of.higher {
		return -math.Log(f.value)
	}
	return math.Log(f.value)
}

// File is a file that may hold a visit.
type File struct {
	Path string
	// node is the name of the folder of a node in which the file lies, as DIR/NODE/BOOT/TIME.jsonl: the only node that it speaks for.
	// "": it lies in none.
	node string
	// found: it was found in a directory. What a directory holds is not the user's choice: no link is followed there.
	found bool
}

// Journals are files that hold no visits, but may hold journals of a matrix.
type Journals struct {
	Files []string
	Left  []string // warnings about what was left out
}

// leftOut has why files are left out, by the folder of a node in which they lie.
type leftOut map[string][]string

func (l leftOut) add(folder, path string, err error) {
	l[folder] = append(l[folder], fmt.Sprintf("%s is left out: %v", path, err))
}

// warnings returns a warning for each folder.
func (l leftOut) warnings() (all []string) {
	for _, folder := range slices.Sorted(maps.Keys(l)) {
		warning := l[folder][0]
		if more := len(l[folder]) - 1; more > 0 {
			warning += fmt.Sprintf("; so are %s of its folder", units.Things(more, "other file"))
		}
		all = append(all, warning)
	}
	return all
}

// find returns the files of visits and of journals below the paths, by name, and warnings about what it leaves out.
func find(ctx context.Context, paths []string) (files []File, warnings []string, err error) {
	left := leftOut{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, nil, hint.With(fmt.Errorf("%s: %w", path, bare(err)), makeVisits)
		}
		if !info.IsDir() {
			whole, err := filepath.Abs(path)
			if err != nil {
				return nil, nil, err
			}
			files = append(files, File{Path: path, node: filepath.Base(filepath.Dir(filepath.Dir(whole)))})
			continue
		}
		dir := filepath.Clean(path) + string(filepath.Separator) // so that a link that the user names is followed
		err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			at := strings.Split(strings.TrimPrefix(name, dir), string(filepath.Separator))
			folder := filepath.Join(dir, at[0])
			if len(at) == 1 && err == nil {
				folder = dir
			}
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && name == dir:
				return fmt.Errorf("%s: %w", path, bare(err))
			case err != nil:
				left.add(folder, name, bare(err))
			case !strings.HasSuffix(name, ".jsonl") && !strings.HasSuffix(name, ".jsonl"+partial), entry.IsDir():
			case !entry.Type().IsRegular():
				left.add(folder, name, errNotRegular)
			default:
				file := File{Path: name, found: true}
				if len(at) == 3 {
					file.node = at[0]
				}
				files = append(files, file)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	warnings = left.warnings()
	if len(files) == 0 {
		err := fmt.Errorf("no visit is in %s", strings.Join(paths, ", "))
		if len(warnings) > 0 {
			err = fmt.Errorf("%w: %s", err, warnings[0])
		}
		return nil, nil, hint.Usage(hint.With(err, makeVisits))
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(files, func(a, b File) bool { return a.Path == b.Path }), warnings, nil
}

const makeVisits = "gorun fleet node --out DIR makes one; name DIR, or files of it"

var errNotRegular = errors.New("it is not a regular file")

// Limits of a file of a visit. Those of a real one are far below.
const (
	mostBytes = 1 << 20
	mostItems = 1000 // measures, or settings
	mostWrong = 64   // wrong results; further ones are not kept
)

// open opens a file of a visit: only a regular file, and without waiting, as an open of a FIFO would.
func (f File) open() (*os.File, fs.FileInfo, error) {
	flags := os.O_RDONLY | syscall.O_NONBLOCK
	if f.found {
		flags |= syscall.O_NOFOLLOW
	}
	file, err := os.OpenFile(f.Path, flags, 0)
	if err != nil {
		return nil, nil, bare(err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// reader reads visits, and shares what is the same in many.
type reader struct {
	latest   time.Time // no visit is right that is later
	mu       sync.Mutex
	machines map[string]*machine // by node
	measures map[measureInfo]*measureInfo
	words    map[string]string
	begun    atomic.Int64 // the number of files that begin as a visit does
	others   atomic.Int64 // and of those that begin as another document does, such as a journal
}

const visitBegin = `{"visit":`

// clockAhead is how far the clock of a node may be ahead of the reader's.
const clockAhead = 24 * time.Hour

// readVisits reads the visits in files, several at a time. A file that holds none is left out, with a warning for each folder. It
// returns false if more of the files begin as another document does.
func readVisits(ctx context.Context, files []File, now time.Time) (visits []visit, warnings []string, are bool) {
	r := &reader{
		latest: now.Add(clockAhead), machines: map[string]*machine{}, measures: map[measureInfo]*measureInfo{}, words: map[string]string{},
	}
	all := make([]visit, len(files))
	errs := make([]error, len(files))
	var next atomic.Int64
	together(func() {
		in := bufio.NewReader(nil)
		for i := next.Add(1) - 1; i < int64(len(files)) && ctx.Err() == nil; i = next.Add(1) - 1 {
			all[i], errs[i] = r.read(files[i], in)
		}
	})
	left := leftOut{}
	for i, file := range files {
		if errs[i] == nil {
			visits = append(visits, all[i])
			continue
		}
		left.add(file.node, file.Path, errs[i])
	}
	slices.SortStableFunc(visits, func(a, b visit) int { return cmp.Or(a.start.Compare(b.start), strings.Compare(a.path, b.path)) })
	return visits, left.warnings(), r.begun.Load() > 0 && r.begun.Load() >= r.others.Load()
}

// together does something on each CPU.
func together(do func()) {
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(do)
	}
	wait.Wait()
}

// read reads a visit by in. Of one that was killed, the last line may be torn: it is not counted.
func (r *reader) read(f File, in *bufio.Reader) (v visit, err error) {
	file, info, err := f.open()
	if err != nil {
		return v, err
	}
	defer file.Close()
	limited := &io.LimitedReader{R: file, N: mostBytes + 1}
	in.Reset(limited)
	switch begin, _ := in.Peek(len(visitBegin)); {
	case string(begin) == visitBegin:
		r.begun.Add(1)
	case len(begin) > 0 && begin[0] == '{':
		r.others.Add(1)
	}
	tooLarge := fmt.Errorf("it is larger than %s", units.Bytes(mostBytes))
	if info.Size() > mostBytes {
		return v, tooLarge
	}
	v = visit{path: f.Path, node: f.node, modified: info.ModTime(), cut: true, figures: make([]figure, 0, len(battery))}
	sealed := true
	end, err := jsonl.Read(in, func(number int, text []byte, unsealed error) error {
		if number == 1 {
			sealed = unsealed == nil
		} else if sealed && unsealed != nil {
			return unsealed
		}
		return r.line(&v, text, number)
	})
	switch {
	case limited.N == 0: // the size of a file may be wrong, as in /proc
		return v, tooLarge
	case err != nil:
		return v, bare(err)
	case v.on == nil && end.Broken != nil:
		return v, end.Broken
	case v.on == nil:
		return v, errors.New("it has no whole first line")
	case v.cut && !strings.HasSuffix(f.Path, partial):
		return v, errors.New("it has no last line, although its name says that it ended")
	case v.cut && v.modified.Before(v.end) && v.modified.After(v.start.Add(-time.Second)): // file systems round times down
		v.end = v.modified
	}
	return v, nil
}

var errNoLine = errors.New("it is no line of a visit")

// line adds a line to a visit: an object with one key, as it was written.
func (r *reader) line(v *visit, text []byte, number int) error {
	text, begins := bytes.CutPrefix(text, []byte(`{"`))
	key, value, found := bytes.Cut(text, []byte(`":`))
	value, ends := bytes.CutSuffix(value, []byte("}"))
	if !begins || !found || !ends {
		return errNoLine
	}
	if header := string(key) == "visit"; header != (number == 1) {
		return errors.New("a visit begins with its header, and has one")
	}
	switch string(key) {
	case "visit":
		return r.header(v, value)
	case "measure":
		return r.measure(v, value)
	case "missing":
		var m Missing
		if json.Unmarshal(value, &m) != nil {
			return errNoLine
		}
		v.addWrong(m.Name, m.Wrong)
	case "end":
		var e End
		if json.Unmarshal(value, &e) != nil {
			return errNoLine
		}
		var err error
		v.cut = false
		v.end, err = r.time(e.Ended)
		return err
	}
	return nil // a later gorun's
}

func (r *reader) header(v *visit, text []byte) (err error) {
	var h Header
	if json.Unmarshal(text, &h) != nil {
		return errNoLine
	}
	if h.Node == "" {
		return errors.New("it names no node")
	}
	if h.Schema != Schema {
		return fmt.Errorf("its schema is %s, and this gorun reads %s", hint.Word(h.Schema), Schema)
	}
	switch {
	case v.node == "":
		return errors.New("it does not lie in DIR/NODE/BOOT, where DIR is a directory that is named")
	case !isName(v.node):
		return fmt.Errorf("its folder %s has no name of a node, which %s", hint.Word(v.node), nameRule)
	case h.Node != v.node:
		return fmt.Errorf("it lies in the folder of %s, and names %s as its node", v.node, hint.Word(h.Node))
	}
	if v.start, err = r.time(h.Started); err != nil {
		return err
	}
	if !(h.Budget >= 0 && h.Budget < time.Duration(math.MaxInt64).Seconds()) {
		return fmt.Errorf("its budget of %v s cannot be right", h.Budget)
	}
	v.end = v.start.Add(time.Duration(h.Budget * float64(time.Second))) // at the latest
	r.mu.Lock()
	defer r.mu.Unlock()
	v.node = r.word(v.node)
	v.on, err = r.machine(v.node, &h)
	return err
}

func (r *reader) measure(v *visit, text []byte) error {
	var m Measure
	if json.Unmarshal(text, &m) != nil {
		return errNoLine
	}
	if !(m.Figure >= 1e-100 && m.Figure <= 1e100) || m.Name == "" {
		return errors.New("a figure is a number above 0, from 1e-100 to 1e100, and has a name")
	}
	row, suffix := rowOf(m.Name)
	is := measureInfo{name: m.Name, unit: m.Unit, higher: m.Better == result.Higher, one: row != nil && suffix == ""}
	if row != nil && (is.unit != string(row.unit) || is.higher != row.rate) {
		return fmt.Errorf("%s is in %s there, and the %s the better, instead of %s and %s", hint.Word(m.Name), hint.Word(m.Unit), is.better(), row.unit, row.better())
	}
	if len(v.figures) == mostItems {
		return fmt.Errorf("it has more than %d measures", mostItems)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.measures[is]
	if of == nil {
		of = &is
		r.measures[is] = of
	}
	v.figures = append(v.figures, figure{of, m.Figure, r.word(m.Part)})
	v.addWrong(m.Name, m.Wrong)
	if len(m.Doubts) > 0 {
		v.disturbed++
	}
	return nil
}

// time parses a time that can be right.
func (r *reader) time(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case err != nil:
		return t, fmt.Errorf("%q is no time", hint.Printable(text))
	case t.After(r.latest):
		return t, fmt.Errorf("%s is ahead of this machine's clock by more than a day", text)
	case t.Before(time.Unix(0, 0)):
		return t, fmt.Errorf("%s is before 1970", text)
	}
	return t, nil
}

// machine returns what a visit says of its machine: that of the visit of the same node that was read before, if it says the same. r is
// locked.
func (r *reader) machine(node string, h *Header) (*machine, error) {
	if m := r.machines[node]; m != nil && reflect.DeepEqual(m.said, said{h.Host, h.Tool, h.Settings}) {
		return m, nil
	}
	if len(h.Settings) > mostItems {
		return nil, fmt.Errorf("it has more than %d settings", mostItems)
	}
	cpus, err := cpuset.Parse(h.Host.Allowed)
	if err != nil {
		return nil, err
	}
	m := &machine{said: said{h.Host, h.Tool, h.Settings}, cpus: cpus}
	m.alike = m.class()
	r.machines[node] = m
	return m, nil
}

// addWrong adds wrong results of a measure.
func (v *visit) addWrong(measure string, wrong []string) {
	for _, what := range wrong[:min(len(wrong), mostWrong-len(v.wrong))] {
		v.wrong = append(v.wrong, measure+": "+what)
	}
}

// word returns the one copy of a text. r is locked.
func (r *reader) word(text string) string {
	if one, found := r.words[text]; found {
		return one
	}
	r.words[text] = text
	return text
}
