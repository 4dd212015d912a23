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
	"time"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/result"
)

// visit is what the judge keeps of a visit's file.
type visit struct {
	path      string
	node      string
	boot      string
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
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				all[i], errs[i] = r.read(files[i])
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	wait.Wait()
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

// read reads a visit. Of one that was killed, the last line may be torn: it is not counted.
func (r *reader) read(path string) (v visit, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return v, err
	}
	rest, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	v = visit{path: path, modified: info.ModTime(), cut: true}
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
	case v.cut && v.modified.After(v.start) && v.modified.Before(v.end):
		v.end = v.modified
	}
	return v, nil
}

// line adds a line to a visit.
func (r *reader) line(v *visit, text []byte, number int) error {
	var line Line
	if err := json.Unmarshal(text, &line); err != nil {
		return errors.New("it is no line of a visit")
	}
	if (number == 1) != (line.Visit != nil) {
		return errors.New("a visit begins with its header")
	}
	var err error
	switch {
	case line.Visit != nil:
		return r.header(v, line.Visit)
	case line.Measure != nil:
		return r.measure(v, line.Measure)
	case line.Missing != nil:
		v.addWrong(line.Missing.Name, line.Missing.Wrong)
	case line.End != nil:
		v.cut = false
		v.end, err = parseTime(line.End.Ended)
	}
	return err
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, fmt.Errorf("%q is no time", hint.Printable(text))
	}
	return t, nil
}

func (r *reader) header(v *visit, h *Header) (err error) {
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
	said, err := json.Marshal([]any{h.Host, h.Tool, h.Settings})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v.node, v.boot = r.word(h.Node), r.word(h.Host.BootID)
	if v.on = r.machines[string(said)]; v.on == nil {
		m := &machine{host: h.Host, tool: h.Tool, settings: h.Settings}
		if m.cpus, err = cpuset.Parse(h.Host.Allowed); err != nil {
			return err
		}
		r.machines[string(said)], v.on = m, m
	}
	return nil
}

func (r *reader) measure(v *visit, m *Measure) error {
	if !(m.Figure > 0) || math.IsInf(m.Figure, 0) || m.Name == "" {
		return errors.New("a figure is a number above 0, and has a name")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.measures[m.Name]
	if of == nil {
		of = &measureInfo{name: m.Name, unit: m.Unit, higher: m.Better == result.Higher}
		r.measures[m.Name] = of
	}
	if of.higher != (m.Better == result.Higher) || of.unit != m.Unit {
		return fmt.Errorf("%s has the unit %s here, and %s in other visits", m.Name, m.Unit, of.unit)
	}
	v.figures = append(v.figures, figure{of, m.Figure, r.word(m.Part)})
	v.addWrong(m.Name, m.Wrong)
	if len(m.Doubts) > 0 {
		v.disturbed++
	}
	return nil
}

// addWrong adds wrong results of a measure.
func (v *visit) addWrong(measure string, wrong []string) {
	for _, what := range wrong {
		v.wrong = append(v.wrong, measure+": "+what)
	}
}

// word returns the one copy of a text.
func (r *reader) word(text string) string {
	if one, found := r.words[text]; found {
		return one
	}
	r.words[text] = text
	return text
}
