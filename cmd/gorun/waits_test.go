package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
)

// Each command says that it waits for a pipe, and ends at a signal.
func TestWaitsUntilASignal(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, syscall.Mkfifo("fifo", 0o600))
	require.NoError(t, os.Mkdir("visits", 0o755))
	require.NoError(t, os.WriteFile(filepath.Join("visits", "n1.jsonl"), nil, 0o600))
	for _, line := range []string{
		"compare fifo",
		"compare fifo fifo",
		"report fifo -o page.html",
		"journal verify fifo",
		"matrix primes --file fifo",
		"matrix primes --file fifo --dry-run",
		"fleet judge visits --expect fifo",
		"fleet judge visits --settled fifo",
		"ab true false --input fifo --samples 1 --quiet",
		"exec --input fifo -- cat",
		"exec --output fifo -- true",
		"ab true false --output fifo --samples 1 --quiet",
		"primes --limit 10 --out fifo",
	} {
		t.Run(line, func(t *testing.T) {
			var errs lines
			e := defaultEnv()
			e.Stdout, e.Stderr, e.Self.Argv = io.Discard, &errs, []string{"gorun"} // see TestMain
			ctx, signal := context.WithCancel(t.Context())
			defer signal()
			code := make(chan int, 1)
			go func() { code <- execute(ctx, strings.Fields(line), e) }()
			tests.Await(t, "message about waiting", func() bool { return strings.Contains(errs.String(), ": waiting for its ") })
			signal()
			assert.Equal(t, exitInterrupted, tests.Receive(t, "end", code), errs.String())
			assert.NotContains(t, errs.String(), "error:")
		})
	}
}
