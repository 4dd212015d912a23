package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/result"
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

// machine is what a visit says of its machine. Visits that say the same share it.
type machine struct {
	host     result.Host
	tool     result.Tool
	cpus     cpuset.Set
	alike    Alike
	settings map[string]string
}

// figure is what a visit found in one measure.
type figure struct {
	of    *measureInfo
	value float64
	part  string
}

// measureInfo is what all visits say of a measure.
type measureInfo struct {
	name, unit string
	higher     bool // is better
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

// reader reads visits, and shares what is the same in many.
type reader struct {
	mu       sync.Mutex
	machines map[string]*machine
	measures map[string]*measureInfo
	words    map[string]string
}

// Files returns the files of visits and of journals below the paths, by name.
func Files(paths []string) (files []string, err error) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir():
			case name == path, strings.HasSuffix(name, ".jsonl"), strings.HasSuffix(name, ".jsonl"+partial):
				files = append(files, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, hint.Usage(hint.With(fmt.Errorf("no visit is in %s", strings.Join(paths, ", ")),
			"gorun fleet node --out DIR makes one; name DIR, or files of it"))
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// AreVisits reports whether the first file that has anything begins as a visit does.
func AreVisits(files []string) bool {
	begin := make([]byte, len(visitBegin))
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			return false
		}
		n, _ := io.ReadFull(file, begin)
		_ = file.Close()
		if n > 0 {
			return string(begin[:n]) == visitBegin
		}
	}
	return true
}

const visitBegin = `{"visit":`

// readVisits reads the visits in files, several at a time. A file that holds none is named in a warning, and left out.
func readVisits(files []string) (visits []visit, warnings []string) {
	r := &reader{machines: map[string]*machine{}, measures: map[string]*measureInfo{}, words: map[string]string{}}
	all := make([]visit, len(files))
	errs := make([]error, len(files))
	var next atomic.Int64
	together(func() {
		var room bytes.Buffer
		for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
			all[i], errs[i] = r.read(files[i], &room)
		}
	})
	for i := range all {
		if errs[i] != nil {
			warnings = append(warnings, fmt.Sprintf("%s is left out: %v", files[i], errs[i]))
			continue
		}
		visits = append(visits, all[i])
	}
	slices.SortStableFunc(visits, func(a, b visit) int { return cmp.Or(a.start.Compare(b.start), strings.Compare(a.path, b.path)) })
	return visits, warnings
}

// together does something on each CPU.
func together(do func()) {
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(do)
	}
	wait.Wait()
}

// read reads a visit. Of one that was killed, the last line may be torn: it is not counted.
func (r *reader) read(path string, room *bytes.Buffer) (v visit, err error) {
	file, err := os.Open(path)
	if err != nil {
		return v, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return v, err
	}
	room.Reset()
	if _, err := room.ReadFrom(file); err != nil {
		return v, err
	}
	v = visit{path: path, modified: info.ModTime(), cut: true, figures: make([]figure, 0, len(battery))}
	rest := room.Bytes()
	for number := 1; len(rest) > 0; number++ {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break // torn
		}
		rest = after
		if err := r.line(&v, line, number); err != nil {
			return v, fmt.Errorf("line %d: %w", number, err)
		}
	}
	switch {
	case v.on == nil:
		return v, errors.New("it has no whole first line")
	case v.cut && !strings.HasSuffix(path, partial):
		return v, errors.New("it has no last line, although its name says that it ended")
	case v.cut && v.modified.Before(v.end) && v.modified.After(v.start.Add(-time.Second)): // file systems round times down
		v.end = v.modified
	}
	return v, nil
}

// What is read of a line. What the judge does not need is not decoded, since a large fleet has millions of lines.
type (
	headerRead struct {
		Schema   string          `json:"schema"`
		Node     string          `json:"node"`
		Started  string          `json:"started"`
		Budget   float64         `json:"budget_seconds"`
		Tool     json.RawMessage `json:"tool"`
		Host     json.RawMessage `json:"host"`
		Settings json.RawMessage `json:"settings"`
	}
	measureRead struct {
		Name   string            `json:"name"`
		Unit   string            `json:"unit"`
		Better string            `json:"better"`
		Figure float64           `json:"figure"`
		Part   string            `json:"part"`
		Wrong  []string          `json:"wrong"`
		Doubts []json.RawMessage `json:"doubts"`
	}
)

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
		v.end, err = parseTime(e.Ended)
		return err
	}
	return nil // a later gorun's
}

func (r *reader) header(v *visit, text []byte) (err error) {
	var h headerRead
	if json.Unmarshal(text, &h) != nil {
		return errNoLine
	}
	if h.Node == "" {
		return errors.New("it names no node")
	}
	if h.Schema != Schema {
		return fmt.Errorf("its schema is %s, and this gorun reads %s", hint.Word(h.Schema), Schema)
	}
	if v.start, err = parseTime(h.Started); err != nil {
		return err
	}
	v.end = v.start.Add(time.Duration(h.Budget * float64(time.Second))) // at the latest
	r.mu.Lock()
	defer r.mu.Unlock()
	v.node = r.word(h.Node)
	v.on, err = r.machine(h)
	return err
}

func (r *reader) measure(v *visit, text []byte) error {
	var m measureRead
	if json.Unmarshal(text, &m) != nil {
		return errNoLine
	}
	if !(m.Figure > 0) || math.IsInf(m.Figure, 0) || m.Name == "" {
		return errors.New("a figure is a number above 0, and has a name")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	is := measureInfo{name: m.Name, unit: m.Unit, higher: m.Better == result.Higher}
	of := r.measures[m.Name]
	if of == nil {
		of = &is
		r.measures[m.Name] = of
	}
	if *of != is {
		return fmt.Errorf("%s has the unit %s here, and %s in other visits", m.Name, m.Unit, of.unit)
	}
	v.figures = append(v.figures, figure{of, m.Figure, r.word(m.Part)})
	v.addWrong(m.Name, m.Wrong)
	if len(m.Doubts) > 0 {
		v.disturbed++
	}
	return nil
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, fmt.Errorf("%q is no time", hint.Printable(text))
	}
	return t, nil
}

// machine returns the one copy of what a visit says of its machine. r is locked.
func (r *reader) machine(h headerRead) (*machine, error) {
	said := string(slices.Concat(h.Host, h.Tool, h.Settings))
	if m := r.machines[said]; m != nil {
		return m, nil
	}
	m := &machine{}
	for _, part := range []struct {
		text []byte
		to   any
	}{{h.Host, &m.host}, {h.Tool, &m.tool}, {h.Settings, &m.settings}} {
		if len(part.text) > 0 && json.Unmarshal(part.text, part.to) != nil {
			return nil, errNoLine
		}
	}
	var err error
	if m.cpus, err = cpuset.Parse(m.host.Allowed); err != nil {
		return nil, err
	}
	m.alike = m.class()
	r.machines[said] = m
	return m, nil
}

// addWrong adds wrong results of a measure.
func (v *visit) addWrong(measure string, wrong []string) {
	for _, what := range wrong {
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
