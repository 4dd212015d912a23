package metrics

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// page is what is kept of a page of metrics, which is read as a stream: the series of some selectors, and the names.
type page struct {
	kept       []*kept
	kinds      map[string]dto.MetricType // of the names on the page, the first ones
	begun      bool                      // it has the line of a series
	unreadable error                     // of that line, the first one
}

// kept is what is kept of a page for a selector.
type kept struct {
	selector Selector
	kind     dto.MetricType
	part     string // of a histogram or a summary, that the selector's name ends with
	series   Series
	others   []string        // series of its name that it does not select, the first ones
	types    map[string]bool // the lines with the types of its names
	lines    int             // of its names
	texts    [][]byte        // lines of its names that have not been parsed: that takes longer than to read them
}

// Limits on what is kept of a page.
const (
	mostNames = 10_000
	longName  = 1 << 10
	longLine  = 64 << 10
	mostText  = 1 << 20 // that are parsed at once
)

func newPage(selectors []Selector) *page {
	p := &page{kinds: map[string]dto.MetricType{}}
	for _, s := range selectors {
		p.kept = append(p.kept, &kept{selector: s, kind: dto.MetricType_UNTYPED, types: map[string]bool{}})
	}
	return p
}

// of returns what is kept for a selector, which is one of those of the page.
func (p *page) of(s Selector) *kept {
	k := p.kept[slices.IndexFunc(p.kept, func(k *kept) bool { return k.selector.String() == s.String() })]
	for _, text := range k.texts {
		k.parse(text)
	}
	k.texts = nil
	return k
}

// read reads a page, of which it takes no more than the limit.
func (p *page) read(from io.Reader, most int64) error {
	limited := &io.LimitedReader{R: from, N: most + 1}
	lines := bufio.NewReaderSize(limited, longLine)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case limited.N <= 0:
			return fmt.Errorf("its page is longer than %d MiB", most>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("its page has a line longer than %d KiB", longLine>>10)
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		p.add(bytes.TrimSpace(line))
		if err != nil {
			return nil
		}
	}
}

// add adds a line.
func (p *page) add(line []byte) {
	name := nameOf(line)
	kind, typed := dto.MetricType_UNTYPED, false
	if name == nil {
		fields := bytes.Fields(line)
		if len(fields) != 4 || string(fields[0]) != "#" || string(fields[1]) != "TYPE" {
			return
		}
		number, known := dto.MetricType_value[strings.ToUpper(string(fields[3]))]
		if !known {
			return
		}
		name, kind, typed = fields[2], dto.MetricType(number), true
	} else if !p.begun {
		p.begun = true
		_, p.unreadable = parse(io.MultiReader(bytes.NewReader(line), strings.NewReader("\n")))
	}
	if _, known := p.kinds[string(name)]; !known && len(p.kinds) < mostNames && len(name) < longName && !p.isPart(name) {
		p.kinds[string(name)] = kind
	}
	for _, k := range p.kept {
		k.add(name, line, kind, typed)
	}
}

// isPart reports whether a name is that of a part of a histogram or a summary on the page.
func (p *page) isPart(name []byte) bool {
	for _, part := range []string{countPart, sumPart, bucketPart} {
		if base, cut := bytes.CutSuffix(name, []byte(part)); cut && distributions[p.kinds[string(base)]] != "" {
			return true
		}
	}
	return false
}

// nameOf returns the name of the series in a line, or nil if it has none.
func nameOf(line []byte) []byte {
	if len(line) == 0 || line[0] == '#' {
		return nil
	}
	if line[0] == '{' { // {"name", label="value"}
		if _, rest, quoted := bytes.Cut(line, []byte{'"'}); quoted {
			name, _, _ := bytes.Cut(rest, []byte{'"'})
			return name
		}
	}
	if end := bytes.IndexAny(line, "{ \t"); end >= 0 {
		line = line[:end]
	}
	return line
}

// add adds a line if its name is one of the selector's; typed: it has the type of a name.
func (k *kept) add(name, line []byte, kind dto.MetricType, typed bool) {
	rest, ours := bytes.CutPrefix(name, []byte(k.selector.Name))
	part, base := "", false
	if !ours {
		part, base = strings.CutPrefix(k.selector.Name, string(name))
		base = base && slices.Contains([]string{countPart, sumPart, bucketPart}, part)
	}
	switch {
	case typed && ours && len(rest) == 0:
		k.kind, k.part = kind, ""
		k.types[string(line)] = true
	case typed && base && distributions[kind] != "":
		k.kind, k.part = kind, part
		k.types[string(line)] = true
	case !typed && ours && (len(rest) == 0 || distributions[k.kind] != "" && k.part == ""):
		k.keep(line)
	}
}

// keep keeps a line, unless it lacks the value of a label.
func (k *kept) keep(line []byte) {
	if k.lines++; k.lines > shownNear+1 { // a hint shows the first ones
		for _, value := range k.selector.Labels {
			if !strings.ContainsAny(value, "\\\"\n") && !bytes.Contains(line, []byte(value)) {
				return
			}
		}
	}
	last := len(k.texts) - 1
	if last < 0 || len(k.texts[last])+len(line) > mostText {
		k.texts = append(k.texts, nil)
		last++
	}
	k.texts[last] = append(append(k.texts[last], line...), '\n')
}

// parse adds the series of some lines.
func (k *kept) parse(lines []byte) {
	text := string(lines)
	for line := range k.types {
		text = line + "\n" + text
	}
	name := strings.TrimSuffix(k.selector.Name, k.part)
	families, _ := parse(strings.NewReader(text)) // those before a line that cannot be read
	for _, m := range families[name].GetMetric() {
		if k.selector.matches(m) {
			k.series.add(k.kind, k.part, m)
		} else if len(k.others) <= shownNear {
			one := Selector{k.selector.Name, map[string]string{}}
			for _, label := range m.GetLabel() {
				one.Labels[label.GetName()] = label.GetValue()
			}
			k.others = append(k.others, one.String())
		}
	}
	if k.kind == dto.MetricType_UNTYPED && strings.HasSuffix(name, "_total") {
		k.series.Counter = true
	}
}
