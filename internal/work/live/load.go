package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/files/input"
	"gorun/internal/kernel/linux"
	"gorun/internal/sample/printed"
	"gorun/internal/start/launch"
)

// edge is the beginning or the end of a block.
type edge struct {
	at   time.Duration // CLOCK_MONOTONIC
	wall time.Time
}

func now() edge { return edge{linux.Monotonic(), time.Now()} }

// load is a load generator that runs throughout. Its lines are kept with the time at which they arrived.
type load struct {
	ended   chan struct{} // closed when it has ended
	cancel  context.CancelFunc
	outcome launch.Outcome
	err     error
	log     string // pattern of the files that have the lines; "": the output has
	before  map[string]int64
	unread  error // of a file that has them

	patience time.Duration // the longest wait for a line

	mu      sync.Mutex
	lines   []line
	dropped int           // lines before these
	bytes   int           // of these lines
	wake    chan struct{} // closed at the next line
	part    map[string]*part
	tail    []byte // of the output, for errors
}

// part is the beginning of a line whose end has not arrived.
type part struct {
	text []byte
	cut  bool // it is a line already, and what follows up to its end is dropped
}

// line is a line of a load.
type line struct {
	at   edge
	text []byte
}

// Limits on the lines that are kept, those of the last blocks: their number, their bytes, and the bytes of one, which is cut there.
const (
	keptLines = 1 << 20
	keptBytes = 64 << 20
	longLine  = 64 << 10
)

// startLoad starts the load.
func startLoad(e experiment.Environment, argv []string, log string) (*load, error) {
	l := &load{ended: make(chan struct{}), log: log, patience: linePatience, wake: make(chan struct{}), part: map[string]*part{}, before: map[string]int64{}}
	for _, path := range l.files() {
		if info, err := os.Stat(path); err == nil {
			l.before[path] = info.Size() // what it has is not of this run
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	var reading sync.WaitGroup
	reading.Go(func() { l.read(read) })
	go func() {
		defer close(l.ended)
		l.outcome, l.err = launch.Run(ctx, launch.Group{
			Self: e.Self.In(e.Environ), Members: []launch.Member{{Argv: argv, Stdout: write, Stderr: write}},
		})
		write.Close()
		reading.Wait()
		read.Close()
	}()
	return l, nil
}

// read keeps the lines of the output.
func (l *load) read(from io.Reader) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			at := now()
			l.mu.Lock()
			l.tail = append(l.tail, buffer[:n]...)
			l.tail = l.tail[max(0, len(l.tail)-1<<12):]
			if l.log == "" {
				l.add("", buffer[:n], at)
			}
			l.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// add splits bytes into lines: some programs end them by a carriage return, to overwrite them on a terminal.
func (l *load) add(of string, text []byte, at edge) {
	p := l.part[of]
	if p == nil {
		p = &part{}
		l.part[of] = p
	}
	had := l.dropped + len(l.lines)
	for len(text) > 0 {
		more, ended := text, false
		if end := lineEnd(text); end >= 0 {
			more, text, ended = text[:end], text[end+1:], true
		} else {
			text = nil
		}
		if !p.cut {
			p.text = append(p.text, more[:min(len(more), longLine-len(p.text))]...)
		}
		full := len(p.text) == longLine
		if (ended || full) && len(p.text) > 0 {
			l.lines = append(l.lines, line{at, bytes.Clone(p.text)})
			l.bytes += len(p.text)
			p.text = p.text[:0]
		}
		p.cut = (p.cut || full) && !ended
	}
	first := max(0, len(l.lines)-keptLines)
	for bytes := l.bytes; bytes > keptBytes; first++ {
		bytes -= len(l.lines[first].text)
	}
	l.drop(first)
	if l.dropped+len(l.lines) > had {
		close(l.wake)
		l.wake = make(chan struct{})
	}
}

// lineEnd returns where the first line of a text ends, or -1 if it does not.
func lineEnd(text []byte) int {
	end := bytes.IndexByte(text, '\n')
	if end >= 0 {
		text = text[:end]
	}
	if back := bytes.IndexByte(text, '\r'); back >= 0 {
		return back
	}
	return end
}

// drop drops the first n lines.
func (l *load) drop(n int) {
	for i := range n {
		l.bytes -= len(l.lines[i].text)
		l.lines[i].text = nil
	}
	l.lines, l.dropped = l.lines[n:], l.dropped+n
}

// files returns the files that have the lines.
func (l *load) files() []string {
	if l.log == "" {
		return nil
	}
	paths, _ := filepath.Glob(l.log) // a wrong pattern has none
	return paths
}

// follow reads what the files have had appended.
func (l *load) follow(ctx context.Context) {
	at := now()
	for _, path := range l.files() {
		file, err := input.Opener{}.Open(ctx, path, input.Any)
		if err == nil {
			err = file.From(l.before[path])
		}
		if err != nil {
			l.unread = err
			continue
		}
		buffer := make([]byte, longLine)
		for {
			n, err := file.Read(buffer)
			if n > 0 {
				l.before[path] += int64(n)
				l.mu.Lock()
				l.add(path, buffer[:n], at)
				l.mu.Unlock()
			}
			if err != nil { // io.EOF: it has no more yet
				break
			}
		}
		file.Close()
	}
}

// exited returns the error of a load that has ended; nil: it runs.
func (l *load) exited() error {
	select {
	case <-l.ended:
	default:
		return nil
	}
	if l.err != nil {
		return fmt.Errorf("the load ended because %w", l.err)
	}
	return ended(l.outcome.Ending, l.tail)
}

// ended is the error of a load that ended, with the end of what it wrote.
func ended(of launch.Ending, wrote []byte) error {
	how := fmt.Sprintf("with exit code %d", of.ExitCode)
	if of.Signal != 0 {
		how = fmt.Sprintf("by signal %d", of.Signal)
	}
	err := fmt.Errorf("the load ended %s%s", how, written(wrote))
	if of.ExitCode == 0 {
		err = hint.With(err, "let it run until gorun ends it, or add --load-per-block, which runs it once in each block")
	}
	return err
}

// written has the end of what a load wrote, in words that continue a sentence.
func written(wrote []byte) string {
	if end := launch.EndOf(wrote); end != "" {
		return ": " + end
	}
	return " and has written nothing"
}

// end ends the load and its descendants.
func (l *load) end() {
	l.cancel()
	<-l.ended
}

// forget drops the lines before a moment.
func (l *load) forget(before edge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := 0
	for first < len(l.lines) && l.lines[first].at.at < before.at-10*time.Second {
		first++
	}
	l.drop(first)
}

// linePatience is the longest wait for a line. What writes its log in pieces of 4 KiB, as pgbench does, may take seconds.
const linePatience = 20 * time.Second

// await returns the first line that matches and is not before an edge, at its time. A load that has ended has no further line.
func (l *load) await(ctx context.Context, re *regexp.Regexp, from edge) (edge, error) {
	limit := time.NewTimer(l.patience)
	defer limit.Stop()
	for looked := 0; ; {
		if l.log != "" {
			l.follow(ctx)
		}
		l.mu.Lock()
		for _, line := range l.lines[max(0, looked-l.dropped):] {
			if line.at.at < from.at {
				continue // also where the line has its own time: it arrived no earlier
			}
			if at, matches, err := lineTime(re, line); err != nil || matches && at.wall.Compare(from.wall) >= 0 {
				l.mu.Unlock()
				return at, err
			}
		}
		looked = l.dropped + len(l.lines)
		wake := l.wake
		l.mu.Unlock()
		poll := time.Hour
		if l.log != "" {
			poll = 5 * time.Millisecond
		}
		select {
		case <-wake:
		case <-time.After(poll):
		case <-l.ended:
			return edge{}, experiment.Over(l.exited())
		case <-ctx.Done():
			return edge{}, ctx.Err()
		case <-limit.C:
			if l.unread != nil {
				return edge{}, hint.Flag("load-log", l.log, l.unread)
			}
			return edge{}, hint.With(fmt.Errorf("it runs for %v %s", l.patience, l.without(re)), oneLine)
		}
	}
}

const oneLine = "--metric is a regular expression for one line; --load-per-block searches the whole output of a load that ends by itself"

// without has the end of what a load wrote that has no line of a figure.
func (l *load) without(re *regexp.Regexp) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("without a line that matches %q%s", re, written(l.tail))
}

// awaitFirst awaits the first line of each figure. A budget may end first.
func (l *load) awaitFirst(ctx context.Context, metrics []metric) error {
	begun := now()
	for _, m := range metrics {
		if m.lines == nil {
			continue
		}
		_, err := l.await(ctx, m.lines, begun)
		if err != nil && errors.Is(err, ctx.Err()) {
			return &experiment.Unfinished{What: "ended while --load ran " + l.without(m.lines), Hint: oneLine}
		}
		if err != nil {
			return fmt.Errorf("--load: %w", err)
		}
	}
	return nil
}

// lineTime returns the time of a line: that in it, or else that of its arrival. It reports whether the line matches.
func lineTime(re *regexp.Regexp, l line) (at edge, matches bool, err error) {
	match := re.FindSubmatchIndex(l.text)
	if match == nil {
		return l.at, false, nil
	}
	group := re.SubexpIndex(timeGroup)
	if group < 0 || match[2*group] < 0 {
		return l.at, true, nil
	}
	wall, err := parseTime(string(l.text[match[2*group]:match[2*group+1]]))
	return edge{l.at.at, wall}, true, err
}

// parseTime parses seconds since 1970, with a fraction or with the microseconds after a space.
func parseTime(text string) (time.Time, error) {
	whole, micro, spaced := strings.Cut(text, " ")
	if !spaced {
		whole, micro, _ = strings.Cut(text, ".")
		micro = (micro + "000000")[:6]
	}
	seconds, err := strconv.ParseInt(whole, 10, 64)
	us, microErr := strconv.ParseInt(micro, 10, 64)
	if err != nil || microErr != nil {
		return time.Time{}, fmt.Errorf("the group %s matches %.40q, which is no time in seconds since 1970", timeGroup, text)
	}
	return time.Unix(seconds, us*1000), nil
}

// figure returns the figure of the lines of a block: the mean of what the group matches, in the unit of the first line, or without a group
// how many match a second.
func (l *load) figure(re *regexp.Regexp, from, to edge) (mean units.Printed, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := -1
	for i := 1; i <= re.NumSubexp(); i++ {
		if i != re.SubexpIndex(timeGroup) {
			own = i
		}
	}
	count := 0
	for _, line := range l.lines {
		if line.at.at < from.at {
			continue
		}
		at, matches, err := lineTime(re, line)
		if err != nil {
			return mean, err
		}
		if !matches || at.wall.Compare(from.wall) <= 0 || at.wall.Compare(to.wall) > 0 {
			continue
		}
		count++
		if own < 0 {
			continue
		}
		figure, err := printed.FigureIn(line.text, re.FindSubmatchIndex(line.text), own)
		if err != nil {
			return mean, fmt.Errorf("%q %w", re, err)
		}
		if count == 1 {
			mean.Unit = figure.Unit
		}
		if figure, err = figure.In(mean.Unit); err != nil {
			return mean, fmt.Errorf("%q: %w", re, err)
		}
		mean.Value += figure.Value
	}
	if count == 0 {
		return mean, fmt.Errorf("no line of the load in the block matches %q", re)
	}
	if own < 0 {
		return units.Printed{Value: float64(count) / to.wall.Sub(from.wall).Seconds()}, nil
	}
	mean.Value /= float64(count)
	return mean, nil
}
