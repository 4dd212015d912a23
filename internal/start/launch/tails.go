package launch

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// tail reads a pipe and keeps its end, or keeps what was last written to a file in memory.
type tail struct {
	from  *os.File
	shown *os.File // gets all of it; nil: not shown
	keep  int
	kept  []byte
	over  chan struct{} // closed when all is read; nil: it is a file in memory
	lost  bool          // more was written to a file in memory than is kept
}

// limit empties files in memory that are larger than what is kept of them, until the returned function is called.
func limit(of [][2]*tail) (stop func()) {
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for {
			select {
			case <-look.C:
			case <-ended:
				return
			}
			for _, tails := range of {
				for _, t := range tails {
					if t != nil && t.size() > int64(t.keep) {
						t.lost = t.from.Truncate(0) == nil || t.lost
					}
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(ended)
		<-over
	})
}

// size returns that of a file in memory; 0: not known.
func (t *tail) size() int64 {
	info, err := t.from.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

func (t *tail) read() {
	_, err := io.Copy(t, t.from) // an error also means the end
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		close(t.over)
		return
	}
	// What the command itself wrote is in the pipe. What its processes write later is read too, so that they can write.
	_ = t.from.SetReadDeadline(time.Time{})
	if pipe, err := t.from.SyscallConn(); err == nil {
		_ = pipe.Read(func(fd uintptr) bool {
			text := make([]byte, pipeSize)
			if n, _ := syscall.Read(int(fd), text); n > 0 {
				_, _ = t.Write(text[:n])
			}
			return true
		})
	}
	close(t.over)
	_, _ = io.Copy(io.Discard, t.from)
}

// pipeSize is how much a pipe holds at once (pipe(7)).
const pipeSize = 1 << 16

// Write keeps the last bytes. If the reader of the shown output has exited, it returns an error, so that the command's
// pipe breaks.
func (t *tail) Write(p []byte) (int, error) {
	if t.shown != nil {
		if _, err := t.shown.Write(p); err != nil {
			return 0, errors.Join(err, t.from.Close())
		}
	}
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.keep {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.keep:]...)
	}
	return len(p), nil
}

// end returns the last bytes when all writers have closed the pipe, or after some patience: a process that outlived a
// killed supervisor may hold it open. If the command left processes, it returns what is there.
func (t *tail) end(left bool) []byte {
	if t == nil {
		return nil
	}
	if t.over == nil {
		size := t.size()
		t.kept = make([]byte, min(size, int64(t.keep)))
		_, err := t.from.ReadAt(t.kept, size-int64(len(t.kept)))
		t.lost = t.lost || err != nil || size > int64(t.keep)
		return t.kept
	}
	deadline := time.Now()
	if !left {
		deadline = deadline.Add(dying)
	}
	_ = t.from.SetReadDeadline(deadline)
	<-t.over
	return t.kept[max(0, len(t.kept)-t.keep):]
}

// EndOf returns the end of an output, in one line.
func EndOf(output []byte) string {
	const shown = 300 // bytes
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(output[max(0, len(output)-shown):]), "�")), " ")
}
