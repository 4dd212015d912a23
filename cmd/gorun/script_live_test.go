package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gorun/internal/dev/tests"
)

// TestLiveScripts runs the scripts that take long: with two CPUs at once, with kills, or with builds.
func TestLiveScripts(t *testing.T) {
	tests.Live(t)
	testscript.Run(t, scriptParams(t, "../../testdata/script-live"))
}
