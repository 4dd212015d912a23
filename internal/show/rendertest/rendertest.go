// Package rendertest has what tests of views share: a machine, good samples, and what is true of every drawing.
package rendertest

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
	"gorun/internal/show/chart"
	"gorun/internal/stats"
)

// Run returns a run without samples on a machine with these numbers of CPUs and nodes.
func Run(experiment string, cpus, nodes int) *result.Run {
	return &result.Run{
		Schema: result.Schema,
		Tool:   result.Tool{Name: "gorun", Version: "v0.1.0", Go: "go1.26.8"},
		Host: result.Host{
			Hostname: "lab", OS: "linux", Arch: "amd64", Kernel: "6.18.2", CPUModel: "Example CPU  8581C @ 2.10GHz",
			Hypervisor: true, CPUs: cpus, Online: cpus, Cores: 2, LLCs: 1, Nodes: nodes, Packages: 1,
			Allowed: cpuset.Range(0, cpus-1).String(), GOMAXPROCS: cpus,
		},
		Experiment: experiment, Seed: 7, Started: "2026-01-02T03:04:05Z",
	}
}

// Sample returns a good sample that has no figures of its own yet.
func Sample(index int, seconds float64) result.Sample {
	zero, voluntary, involuntary, faults := 0.0, uint64(1203), uint64(87), uint64(512)
	return result.Sample{
		Index: index, Seconds: seconds, UserSeconds: 2 * seconds * 0.985, SystemSeconds: 0.0123,
		Quality: result.Quality{Grade: result.Valid, Signals: result.Signals{
			StealSeconds: &zero, VoluntarySwitches: &voluntary, InvoluntarySwitches: &involuntary, MinorFaults: &faults,
		}},
	}
}

// Effect returns a verdict with the ends of its interval in per cent.
func Effect(kind stats.Kind, ratio, lo, hi float64, rounds int) *stats.Verdict {
	return &stats.Verdict{
		Kind: kind, Typical: stats.Effect{Ratio: 1 + ratio/100, Lo: 1 + lo/100, Hi: 1 + hi/100},
		Rounds: rounds, Margin: 0.02, Step: 0.001,
	}
}

// Figures returns figures as a journal has them.
func Figures(values map[string]any) (figures result.Figures) {
	text, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(text, &figures)
	}
	if err != nil {
		panic(err)
	}
	return figures
}

// Change sets figures of a sample as if its journal had them; nil takes one out.
func Change(s *result.Sample, to map[string]any) {
	text, err := json.Marshal(s.Values)
	if err != nil {
		panic(err)
	}
	values := map[string]any{}
	if err := json.Unmarshal(text, &values); err != nil {
		panic(err)
	}
	maps.Copy(values, to)
	maps.DeleteFunc(values, func(_ string, value any) bool { return value == nil })
	s.Values = Figures(values)
}

// Hostile is what a stranger's journal may have for a text: it would colour a terminal, clear it, set its title, turn the reading
// direction, and run a script in a page.
const Hostile = "\x1b[31m\x1b[2J\x1b]0;title\a\u202e\u009b5m\u200b</style></script><img src=x onerror=alert(1)>\" onload=\"x\r\n" +
	"-- csv --\t\x00title"

// Soiled returns a value in which every text is hostile.
func Soiled[T any](t require.TestingT, value *T) *T {
	line, err := json.Marshal(value)
	require.NoError(t, err)
	var tree any
	require.NoError(t, json.Unmarshal(line, &tree))
	line, err = json.Marshal(soil(tree))
	require.NoError(t, err)
	out := new(T)
	require.NoError(t, json.Unmarshal(line, out))
	return out
}

func soil(value any) any {
	switch value := value.(type) {
	case string:
		return Hostile
	case []any:
		for i := range value {
			value[i] = soil(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = soil(value[name])
		}
	}
	return value
}

// XML holds that a page begins with a well-formed element that needs nothing from outside.
func XML(t require.TestingT, page string) {
	require.NoError(t, xml.Unmarshal([]byte(page), &struct{ XMLName xml.Name }{}))
	for tokens := xml.NewDecoder(strings.NewReader(page)); ; {
		token, err := tokens.Token()
		if err != nil {
			break // as above, or text after the element
		}
		if of, is := token.(xml.StartElement); is && of.Name.Space == "http://www.w3.org/2000/svg" {
			require.Contains(t, svgElements, " "+of.Name.Local+" ")
		}
	}
	require.NotRegexp(t, `<(script|image|use|a)[\s>]|\s(id|href|onload)="`, page)
}

// Page holds that a page has the elements and attributes of gorun's own alone, whatever texts it shows: the one script, and nothing that
// acts, that comes from outside or that leads there.
func Page(t require.TestingT, page string) {
	top, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	scripts := 0
	for node := range top.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		require.Contains(t, pageElements, " "+node.Data+" ")
		if node.Data == "script" {
			scripts++
		}
		for _, a := range node.Attr {
			require.NotRegexp(t, `^(on.*|src|srcset|action|formaction|poster|xlink:href)$`, a.Key)
			require.True(t, a.Key != "href" || a.Val == "data:," || strings.HasPrefix(a.Val, "#"), "%s=%q", a.Key, a.Val)
			require.True(t, a.Key != "http-equiv" || a.Val == "Content-Security-Policy", "%s=%q", a.Key, a.Val)
		}
	}
	require.Equal(t, 1, scripts)
	require.False(t, strings.ContainsFunc(page, func(r rune) bool { return hint.Acts(r) && r != '\n' && r != '\t' }))
}

const pageElements = " html head meta link noscript title style body a header h1 h2 h3 p ul li b br span dl div dt dd nav main section table " +
	"caption thead tbody tr th td figure figcaption details summary pre code footer script " + svgElements

const svgElements = " svg title desc style text g path rect circle "

var fontSize = regexp.MustCompile(`font-size="([0-9.]+)"`)

// Drawing holds what is true of every figure of an experiment.
func Drawing(t require.TestingT, f chart.Drawing) {
	XML(t, f.SVG)
	require.Contains(t, f.SVG, `<svg xmlns="http://www.w3.org/2000/svg" class="gorun-svg" role="img" viewBox="0 0 424 `)
	require.NotRegexp(t, `NaN|Inf|%!`, f.SVG)
	require.NotContains(t, f.SVG, "\x1b")
	for _, size := range fontSize.FindAllStringSubmatch(f.SVG, -1) {
		x, err := strconv.ParseFloat(size[1], 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, x, 10.0)
	}
	require.NotEmpty(t, f.Title)
	require.Contains(t, f.SVG, `font-weight="600">`+f.Title+"</text>", "the title has room")
	require.NotEmpty(t, f.Description)
	for _, row := range f.Table.Rows {
		require.Len(t, row.Values, len(f.Table.Columns))
	}
	require.NotRegexp(t, `NaN|Inf|%!|\x1b`, fmt.Sprint(f.Description, f.Table.Sheet()))
}

// ErrBroken is the error of Broken.
var ErrBroken = errors.New("the disk is full")

// Broken is a file that cannot be written.
type Broken struct{}

func (Broken) Write([]byte) (int, error) { return 0, ErrBroken }
