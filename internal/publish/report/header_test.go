package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A page identifies the machine only if that was asked for.
func TestPages(t *testing.T) {
	run := copyOf(t, "matrix")
	run.Host.Hostname, run.Host.BootID, run.Host.CommandLine = "db-7.example", "b00t-1234", "root=/dev/vda1 quiet"
	in := Input{File: "/home/x/run.jsonl", Run: run}
	for _, inputs := range [][]Input{{in}, {in, in}} {
		for _, host := range []bool{false, true} {
			var page strings.Builder
			require.NoError(t, Write(&page, inputs, Options{Views: experiments, Host: host}))
			for _, value := range []string{"db-7.example", "b00t-1234", "root=/dev/vda1 quiet"} {
				assert.Equal(t, host, strings.Contains(page.String(), value), value)
			}
			assert.NotContains(t, page.String(), "/home/x/", "the directory is nobody's business")
			assert.Contains(t, page.String(), run.Host.Kernel)
		}
	}
	assert.Equal(t, "db-7.example", run.Host.Hostname, "the run is as it was")
}
