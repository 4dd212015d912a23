package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"gorun/internal/linux"
	"gorun/internal/sysfs"
)

// migrateTask is the layout of the tracepoint sched:sched_migrate_task, which varies between kernels.
type migrateTask struct {
	id                uint64 // its perf_event_attr.config
	pid, origin, dest int    // offsets of the thread and the two CPUs (32 bits each) in the tracepoint's raw data
}

// readMigrateTask reads the tracepoint's format from tracefs, if it is mounted.
func readMigrateTask(fsys fs.FS) (migrateTask, error) {
	const event = "/events/sched/sched_migrate_task/format"
	var errs []error
	for _, tracefs := range []string{"sys/kernel/tracing", "sys/kernel/debug/tracing"} {
		text, err := sysfs.ReadString(fsys, tracefs+event)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m, err := parseMigrateTask(text)
		if err != nil {
			return migrateTask{}, sysfs.Malformed(tracefs+event, "%v", err)
		}
		return m, nil
	}
	refusal := &linux.Error{Op: "find the tracepoint sched_migrate_task"}
	for _, err := range errs {
		if !errors.Is(err, fs.ErrNotExist) {
			refusal.Err, refusal.Remedy = err, "needs "+TraceMigrateTask.needs()
			return migrateTask{}, refusal
		}
	}
	refusal.Err = fmt.Errorf("no tracefs has it: %w", errors.ErrUnsupported)
	refusal.Remedy = "as root: mount -t tracefs tracefs /sys/kernel/tracing"
	return migrateTask{}, refusal
}

// parseMigrateTask parses an event's format file (kernel/trace/trace_events.c, f_show): a line "ID: N", and a line for
// each field.
func parseMigrateTask(text string) (m migrateTask, err error) {
	_, rest, _ := strings.Cut(text, "ID: ")
	id, _, _ := strings.Cut(rest, "\n")
	if m.id, err = strconv.ParseUint(id, 10, 32); err != nil {
		return migrateTask{}, fmt.Errorf("%.20q is not an ID", id)
	}
	if m.pid, err = parseOffset(text, "pid"); err != nil {
		return migrateTask{}, err
	}
	if m.origin, err = parseOffset(text, "orig_cpu"); err != nil {
		return migrateTask{}, err
	}
	if m.dest, err = parseOffset(text, "dest_cpu"); err != nil {
		return migrateTask{}, err
	}
	return m, nil
}

// parseOffset returns the offset of a field of four bytes. Its line is "field:int NAME;", then, each after a tab,
// "offset:20;" and "size:4;".
func parseOffset(text, name string) (int, error) {
	_, rest, _ := strings.Cut(text, " "+name+";\toffset:")
	offset, rest, _ := strings.Cut(rest, ";\tsize:")
	n, err := strconv.ParseUint(offset, 10, 16) // no record is longer than 64 KiB
	if err != nil {
		return 0, fmt.Errorf("field %s has no offset", name)
	}
	if size, _, _ := strings.Cut(rest, ";"); size != "4" {
		return 0, fmt.Errorf("field %s has %.20q bytes instead of 4", name, size)
	}
	return int(n), nil
}

// move parses a sample of the tracepoint, taken with PERF_SAMPLE_TIME | PERF_SAMPLE_RAW: u64 time, u32 size, the data.
// tid is the thread's, in the initial pid namespace.
func (m migrateTask) move(sample []byte) (tid int, move Move, err error) {
	const data = 12
	if len(sample) < data || len(sample)-data < max(m.pid, m.origin, m.dest)+4 {
		return 0, Move{}, fmt.Errorf("%w: a sample of %d bytes", errRing, len(sample))
	}
	field := func(offset int) int { return int(int32(binary.NativeEndian.Uint32(sample[data+offset:]))) }
	return field(m.pid), Move{int64(binary.NativeEndian.Uint64(sample)), field(m.origin), field(m.dest)}, nil
}
