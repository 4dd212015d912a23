package gobench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"

	"gorun/internal/base/hint"
)

// A layout is an order of the functions in a test binary, which the linker draws from a seed. The same source may be faster or
// slower in another one.

// mostLayouts is far more than any run has rounds for.
const mostLayouts = 1000

// layoutPath returns the test binary of a layout.
func layoutPath(path string, layout int) string {
	if layout == 0 {
		return path
	}
	return fmt.Sprintf("%s.%d", path, layout)
}

// layoutSeed returns the linker's seed of a layout, which is not 0. A run has seeds of its own, so that another run, with other
// layouts, can confirm what it claims.
func layoutSeed(seed uint64, layout int) int32 {
	return 1 + rand.New(rand.NewPCG(seed, 1<<62+uint64(layout))).Int32N(math.MaxInt32)
}

// link builds the test binary of a package in all layouts: the first alone, which compiles, the others at the same time.
func (s *Source) link(ctx context.Context, of side, path, pkg string) error {
	build := func(layout int) error {
		argv := s.tagged([]string{"go", "test", "-c", "-json=false", "-trimpath", "-o", layoutPath(path, layout)})
		if s.layouts > 1 {
			argv = append(argv, laidOut(s.ldflags, layoutSeed(s.setting.Seed, layout))...)
		}
		_, err := s.call(ctx, of, append(argv, pkg)...)
		if err != nil && strings.Contains(err.Error(), "-randlayout") {
			err = hint.With(err, "--layouts needs the linker of Go 1.22 or later")
		}
		return err
	}
	if err := build(0); err != nil {
		return err
	}
	errs := make([]error, s.layouts)
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for layout := 1; layout < s.layouts; layout++ {
		group.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			if errs[layout] = ctx.Err(); errs[layout] == nil {
				errs[layout] = build(layout)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// laidOut returns flags of go that link with a layout, in addition to the user's own flags of the linker: of several -ldflags,
// the last one whose pattern matches a package counts.
func laidOut(own []string, seed int32) []string {
	added := fmt.Sprintf("-randlayout=%d", seed)
	argv := []string{"-ldflags=" + added}
	for _, flags := range own {
		argv = append(argv, "-ldflags="+flags+" "+added)
	}
	return argv
}

// readLinkFlags reads the user's own flags of the linker from GOFLAGS, of the environment or of `go env -w`.
func (s *Source) readLinkFlags(ctx context.Context) error {
	if s.layouts == 1 {
		return nil
	}
	out, err := s.call(ctx, side{}, "go", "env", "-json=false", "GOFLAGS")
	s.ldflags = linkFlags(string(out))
	return err
}

// linkFlags returns the values of -ldflags in GOFLAGS: words between spaces, each of which may be quoted as a whole (go help
// environment).
func linkFlags(goflags string) (values []string) {
	for rest := strings.TrimSpace(goflags); rest != ""; rest = strings.TrimSpace(rest) {
		end := " "
		if rest[0] == '"' || rest[0] == '\'' {
			end, rest = rest[:1], rest[1:]
		}
		var word string
		word, rest, _ = strings.Cut(rest, end)
		if value, found := strings.CutPrefix(strings.TrimLeft(word, "-"), "ldflags="); found {
			values = append(values, value)
		}
	}
	return values
}

// errGivenLayouts is the error of --layouts for binaries that the user has built.
var errGivenLayouts = hint.Usage(hint.With(errors.New("--layouts links test binaries, and these are linked already"),
	"name packages, and a revision or a folder as --base"))
