package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gorun/internal/hint"
	"gorun/internal/linux"
)

// Command is how a burner's process is started: a program that calls Burn with the options of its last argument.
type Command struct {
	Path string
	Args []string // its argv, from the program's name on; the options are added
	Env  []string // all of its environment
}

// Fleet is a burner a CPU, each a process of its own.
type Fleet struct {
	burners []*burner
	stop    func() ([]Report, error)
	ended   chan struct{} // closed when no burner is left
}

type burner struct {
	options  Options
	process  *exec.Cmd
	in       io.Closer
	messages *json.Decoder
	stderr   bytes.Buffer
}

// patience is how long burners that were asked to end may take before they are killed.
const patience = 2 * time.Second

// Start starts the burners and returns when all of them burn. They end with Stop, and are killed when ctx ends or this
// process does.
func Start(ctx context.Context, c Command, burners []Options) (*Fleet, error) {
	f := &Fleet{ended: make(chan struct{})}
	f.stop = sync.OnceValues(f.end)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the burners die with this thread, which must last as long
		defer runtime.UnlockOSThread()
		started <- f.start(ctx, c, burners)
		<-f.ended
	}()
	err := <-started
	for _, b := range f.burners {
		if err == nil {
			_, err = b.hear()
		}
	}
	if err == nil {
		return f, nil
	}
	_, _ = f.stop() // of a fleet that does not burn, this error is the first
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, err
}

func (f *Fleet) start(ctx context.Context, c Command, burners []Options) error {
	for _, o := range burners {
		text, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("options of a burner: %w", err)
		}
		b := &burner{options: o, process: exec.CommandContext(ctx, c.Path)}
		b.process.Args = append(slices.Clone(c.Args), string(text))
		b.process.Env = c.Env
		b.process.SysProcAttr = linux.ChildAttr()
		b.process.Stderr = &b.stderr
		in, inErr := b.process.StdinPipe()
		out, outErr := b.process.StdoutPipe()
		if err := errors.Join(inErr, outErr); err != nil {
			return fmt.Errorf("start the burner of CPU %d: %w", o.CPU, err)
		}
		b.in, b.messages = in, json.NewDecoder(out)
		if err := b.process.Start(); err != nil {
			return fmt.Errorf("start the burner of CPU %d: %w", o.CPU, err)
		}
		f.burners = append(f.burners, b)
	}
	return nil
}

// hear waits for the burner's next message.
func (b *burner) hear() (Report, error) {
	var m message
	if err := b.messages.Decode(&m); err != nil {
		if said, _, _ := strings.Cut(strings.TrimSpace(b.said()), "\n"); said != "" {
			err = errors.New(said)
		}
		return Report{}, fmt.Errorf("the burner of CPU %d ended before its time: %w", b.options.CPU, err)
	}
	if m.Error == "" {
		return m.Report, nil
	}
	err := fmt.Errorf("the burner of CPU %d: %s", b.options.CPU, m.Error)
	if m.Hint != "" {
		err = hint.With(err, m.Hint)
	}
	return Report{}, err
}

// said ends a burner that does not speak as one does, and returns what it wrote to stderr.
func (b *burner) said() string {
	_ = b.process.Process.Kill() // if it has not ended by itself
	_ = b.process.Wait()
	return b.stderr.String()
}

// Stop ends the burners and returns the reports of those that made one.
func (f *Fleet) Stop() ([]Report, error) { return f.stop() }

func (f *Fleet) end() ([]Report, error) {
	defer close(f.ended)
	for _, b := range f.burners {
		_ = b.in.Close() // to a burner, the end of its input is the end
	}
	impatient := time.AfterFunc(patience, func() {
		for _, b := range f.burners {
			_ = b.process.Process.Kill()
		}
	})
	defer impatient.Stop()
	var reports []Report
	var errs []error
	for _, b := range f.burners {
		report, err := b.hear()
		if err == nil {
			reports = append(reports, report)
		}
		errs = append(errs, err)
		_ = b.process.Wait() // its report has told how it went
	}
	return reports, errors.Join(errs...)
}

// Reading is the state of the burners' clocks at a moment.
type Reading struct{ wall, used []time.Duration }

// Read reads the burners' clocks, which asks nothing of the burners. One that has ended stands still.
func (f *Fleet) Read() (Reading, error) {
	var r Reading
	for _, b := range f.burners {
		used, err := linux.ProcessCPUTime(b.process.Process.Pid)
		if err != nil {
			return Reading{}, fmt.Errorf("the burner of CPU %d: %w", b.options.CPU, err)
		}
		r.wall, r.used = append(r.wall, linux.Monotonic()), append(r.used, used)
	}
	return r, nil
}

// Achieved is the load of a CPU in a stretch of time.
type Achieved struct {
	CPU     int     `json:"cpu"`
	Asked   float64 `json:"asked_percent"`
	Percent float64 `json:"percent"`
	Seconds float64 `json:"seconds"` // of wall time

	period time.Duration
}

// Achieved returns the loads between two readings, in the order of the burners.
func (f *Fleet) Achieved(from, to Reading) []Achieved {
	loads := make([]Achieved, len(f.burners))
	for i, b := range f.burners {
		wall, used := to.wall[i]-from.wall[i], to.used[i]-from.used[i]
		o := b.options
		loads[i] = Achieved{CPU: o.CPU, Asked: o.Percent, Seconds: wall.Seconds(), period: o.Period}
		if wall > 0 {
			loads[i].Percent = 100 * float64(used) / float64(wall)
		}
	}
	return loads
}
