package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
)

// helps calls do with each command and with the output of its --help.
func helps(t *testing.T, do func(cmd *cobra.Command, help string)) {
	t.Helper()
	forEach(newRoot(defaultEnv()), func(cmd *cobra.Command) {
		if !cmd.Runnable() && !cmd.HasSubCommands() || cmd.Name() == "help" {
			return
		}
		o := dryRun(t, append(strings.Fields(cmd.CommandPath())[1:], "--help"))
		require.Zero(t, o.code, "%s: %s", cmd.CommandPath(), o.stderr)
		do(cmd, o.stdout)
	})
}

// Each flag is in one group of its command's help, and flags of every run are there by name only. No default is empty. A help is
// at most 60 lines: flags that few need are in `gorun help COMMAND`.
func TestHelpHasEachFlag(t *testing.T) {
	helps(t, func(cmd *cobra.Command, help string) {
		assert.NotContains(t, help, "(default )", cmd.CommandPath())
		assert.LessOrEqual(t, strings.Count(help, "\n"), 60, cmd.CommandPath())
		assert.NotContains(t, help, "(default 0s)", cmd.CommandPath())
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			described := strings.Count(help, "--"+f.Name+" ") + strings.Count(help, "--"+f.Name+"\n")
			assert.Positive(t, described, "%s --%s", cmd.CommandPath(), f.Name)
		})
		assert.NotContains(t, help, "serve Prometheus metrics", cmd.CommandPath())
	})
	topic := dryRun(t, []string{"help", "flags"}).stdout
	for _, x := range rows {
		for _, cmd := range []*cobra.Command{plainCommand(defaultEnv(), x), matrixCommand(defaultEnv(), x)} {
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				group := experiment.GroupOf(f)
				assert.NotEmpty(t, group, "%s --%s", cmd.CommandPath(), f.Name)
				assert.Equal(t, slices.Contains(shared, group),
					strings.Contains(topic, "--"+f.Name+" "), "%s --%s", cmd.CommandPath(), f.Name)
			})
		}
	}
}

// Without flags, an experiment gives a first answer within 20 seconds, but for two on large machines: the rows of gorun numa wait until
// NUMA balancing has moved memory, and the map of gorun c2c has each pair of CPUs.
func TestFirstAnswer(t *testing.T) {
	for _, x := range rows {
		if !slices.Contains([]string{"numa", "c2c"}, x.Name) {
			assert.LessOrEqual(t, x.Sampling.Budget, 20.0, x.Name)
		}
	}
}

// Flags with the same title are one group, even if other flags were added between them.
func TestHelpGroups(t *testing.T) {
	help := dryRun(t, []string{"primes", "--help"}).stdout
	_, help, _ = strings.Cut(help, "\nWork:\n")
	work, placement, found := strings.Cut(help, "\nPlacement:\n")
	require.True(t, found)
	assert.Contains(t, work, "--workers-detail")
	assert.NotContains(t, work, "--pin-cpus list")
	assert.Contains(t, placement, "--pin-cpus list")
}

// Flags have the names that hyperfine(1) and other tools use as aliases.
func TestOtherNames(t *testing.T) {
	want := dryRun(t, strings.Fields("primes --samples 7 --warmup 3 --seed 1 --dry-run"))
	require.Zero(t, want.code, want.stderr)
	assert.Contains(t, want.stdout, " 7\n")
	assert.Equal(t, want, dryRun(t, strings.Fields("primes --runs 7 -w 3 --seed 1 --dry-run")))
	assert.Equal(t, want, dryRun(t, strings.Fields("primes -r 7 -w 3 --seed 1 --dry-run")))
	assert.Equal(t, dryRun(t, []string{"version"}), dryRun(t, []string{"--version"}))
}
