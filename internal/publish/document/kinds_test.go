package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/publish/document"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/work/doctor"
	"gorun/internal/work/fleet"
)

// A document has the formats whose methods it has, in the order of the list.
func TestFor(t *testing.T) {
	for _, c := range []struct {
		formats document.Formats
		want    string
	}{
		{document.For[render.Run](), "table json csv markdown benchfmt"},
		{document.For[render.Plan](), "table json"},
		{document.For[render.Comparison](), "table json"},
		{document.For[render.Pair](), "table json benchfmt"},
		{document.For[render.Topology](), "table json"},
		{document.For[*doctor.Report](), "table json markdown prometheus"},
		{document.For[*fleet.Judgement](), "table json csv markdown html prometheus slurm kubernetes"},
		{document.For[*fleet.Hosts](), "table json csv markdown html"},
	} {
		assert.Equal(t, c.want, strings.Join(c.formats.Names(), " "))
	}
	var page strings.Builder
	err := document.Show(&page, render.Views{}.Plan(&result.Plan{}), "csv", term.Options{})
	require.EqualError(t, err, "--format csv: unknown format: there are table, json")
	assert.Empty(t, page.String())
}
