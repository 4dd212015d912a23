package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/sysfs"
)

func TestMovesOf(t *testing.T) {
	assert.Empty(t, MovesOf(nil))
	assert.Empty(t, MovesOf([]CPURead{{1, 3}, {2, 3}}), "the first CPU is not a move")
	assert.Equal(t,
		[]Move{{20, 3, 0}, {50, 0, 3}},
		MovesOf([]CPURead{{10, 3}, {20, 0}, {30, 0}, {40, -1}, {50, 3}}))
}

// The moves form a path from the first read to the last.
func TestMovesOfIsAWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cpus := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 50).Draw(t, "cpus")
		reads := make([]CPURead, len(cpus))
		changes := 0
		for i, cpu := range cpus {
			reads[i] = CPURead{int64(i), cpu}
			if i > 0 && cpu != cpus[i-1] {
				changes++
			}
		}
		at := cpus[0]
		moves := MovesOf(reads)
		for _, m := range moves {
			require.Equal(t, at, m.From)
			require.NotEqual(t, m.From, m.To)
			require.Equal(t, cpus[m.NS], m.To)
			at = m.To
		}
		require.Equal(t, cpus[len(cpus)-1], at)
		require.Len(t, moves, changes)
	})
}

func TestTraceMethods(t *testing.T) {
	seen := map[TraceMethod]bool{}
	for _, row := range TraceMethods {
		assert.False(t, seen[row.Method])
		seen[row.Method] = true
		assert.NotEmpty(t, row.Meaning)
		assert.Equal(t, row.Needs, row.Method.needs())
	}
	assert.Empty(t, TraceMethod("guess").needs())
}

// statText returns a thread's file in the format of Linux 6 (proc_pid_stat(5)).
func statText(name string, cpu int) string {
	return fmt.Sprintf("3117 (%s) S 1 3117 3117 0 -1 4194304 83 0 0 0 0 0 0 0 20 0 1 0 1788 2764800 346 "+
		"18446744073709551615 94 95 140 0 0 0 0 0 0 1 0 0 17 %d 99 98 0 0 0 94 95 96 140 141 142 143 0", name, cpu)
}

func TestParseStatCPU(t *testing.T) {
	for _, name := range []string{"gorun", "a b c", "x) R 1 2", "((", ""} {
		cpu, err := parseStatCPU(statText(name, 411))
		require.NoError(t, err)
		assert.Equal(t, 411, cpu, name)
	}
	for _, text := range []string{"", "1 (x) S 1", strings.ReplaceAll(statText("x", 411), "411", "-1"), ")"} {
		_, err := parseStatCPU(text)
		assert.Error(t, err, text)
	}
}

func TestThreadCPU(t *testing.T) {
	fsys := fstest.MapFS{
		"proc/7/stat": {Data: []byte(statText("x", 3) + "\n")},
		"proc/8/stat": {Data: []byte("8 (x) S")},
	}
	cpu, err := threadCPU(fsys, 7)
	require.NoError(t, err)
	assert.Equal(t, 3, cpu)
	_, err = threadCPU(fsys, 8)
	require.ErrorIs(t, err, sysfs.ErrMalformed)
	assert.ErrorContains(t, err, "proc/8/stat")
	_, err = threadCPU(fsys, 9)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func FuzzParseStatCPU(f *testing.F) {
	f.Add(statText("gorun", 3))
	f.Add(statText("a) (b", 1<<30))
	f.Add(")))")
	f.Fuzz(func(t *testing.T, text string) {
		cpu, err := parseStatCPU(text)
		if err != nil {
			require.Zero(t, cpu)
			return
		}
		again, err := parseStatCPU(statText("x", cpu))
		require.NoError(t, err)
		require.Equal(t, cpu, again)
	})
}

const commonFields = `format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

`

// The tracepoint's format file by Linux 6.1 and by 6.18, which no longer keeps the thread's name in the record.
const (
	format61 = "name: sched_migrate_task\nID: 310\n" + commonFields +
		`	field:char comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t pid;	offset:24;	size:4;	signed:1;
	field:int prio;	offset:28;	size:4;	signed:1;
	field:int orig_cpu;	offset:32;	size:4;	signed:1;
	field:int dest_cpu;	offset:36;	size:4;	signed:1;

print fmt: "comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", REC->comm, REC->pid, REC->prio
`
	format618 = "name: sched_migrate_task\nID: 371\n" + commonFields +
		`	field:__data_loc char[] comm;	offset:8;	size:4;	signed:0;
	field:pid_t pid;	offset:12;	size:4;	signed:1;
	field:int prio;	offset:16;	size:4;	signed:1;
	field:int orig_cpu;	offset:20;	size:4;	signed:1;
	field:int dest_cpu;	offset:24;	size:4;	signed:1;

print fmt: "comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", __get_str(comm), REC->pid, REC->prio
`
)

func TestParseMigrateTask(t *testing.T) {
	for text, want := range map[string]migrateTask{format61: {310, 24, 32, 36}, format618: {371, 12, 20, 24}} {
		got, err := parseMigrateTask(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, c := range []struct{ from, to, why string }{
		{"ID: 371", "ID: many", "not an ID"},
		{"ID: 371", "", "not an ID"},
		{"pid_t pid;", "pid_t tid;", "pid"},
		{"orig_cpu;", "cpu;", "orig_cpu"},
		{"dest_cpu;", "new_dest_cpu_;", "dest_cpu"},
		{"offset:24;", "offset:-24;", "dest_cpu"},
		{"offset:24;", "offset:65536;", "dest_cpu"},
		{"offset:20;	size:4;", "offset:20;	size:8;", "bytes instead of 4"},
	} {
		_, err := parseMigrateTask(strings.Replace(format618, c.from, c.to, 1))
		assert.ErrorContains(t, err, c.why, "%s → %s", c.from, c.to)
	}
}

func TestReadMigrateTask(t *testing.T) {
	const event = "/events/sched/sched_migrate_task/format"
	for _, mount := range []string{"sys/kernel/tracing", "sys/kernel/debug/tracing"} {
		got, err := readMigrateTask(fstest.MapFS{mount + event: {Data: []byte(format618)}})
		require.NoError(t, err)
		assert.Equal(t, migrateTask{371, 12, 20, 24}, got)
	}

	_, err := readMigrateTask(fstest.MapFS{"sys/kernel/tracing/README": {}})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.True(t, hinted(err))

	_, err = readMigrateTask(refusing{"sys/kernel/debug"})
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.True(t, hinted(err))

	_, err = readMigrateTask(fstest.MapFS{"sys/kernel/tracing" + event: {Data: []byte("ID: 1\n")}})
	assert.ErrorIs(t, err, sysfs.ErrMalformed)
}

// refusing is a file system that refuses access to a directory, and is otherwise empty.
type refusing struct{ dir string }

func (r refusing) Open(name string) (fs.File, error) {
	err := fs.ErrNotExist
	if strings.HasPrefix(name, r.dir+"/") {
		err = fs.ErrPermission
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: err}
}

// tracepointSample returns a record's body: time, size, and the tracepoint's data in its format.
func tracepointSample(m migrateTask, size int, ns int64, tid, origin, dest int) []byte {
	data := make([]byte, size)
	binary.NativeEndian.PutUint32(data[m.pid:], uint32(tid))
	binary.NativeEndian.PutUint32(data[m.origin:], uint32(origin))
	binary.NativeEndian.PutUint32(data[m.dest:], uint32(dest))
	b := binary.NativeEndian.AppendUint64(nil, uint64(ns))
	return append(binary.NativeEndian.AppendUint32(b, uint32(size)), data...)
}

func TestMigrateTaskMove(t *testing.T) {
	for _, m := range []migrateTask{{310, 24, 32, 36}, {371, 12, 20, 24}} {
		sample := tracepointSample(m, 44, 123456789012, 4194303, 3, 411)
		tid, got, err := m.move(sample)
		require.NoError(t, err)
		assert.Equal(t, 4194303, tid)
		assert.Equal(t, Move{123456789012, 3, 411}, got)
		for n := range m.dest + 4 + 12 {
			_, _, err := m.move(sample[:n])
			assert.ErrorIs(t, err, errRing)
		}
	}
}

func FuzzMigrateTask(f *testing.F) {
	f.Add(format61, tracepointSample(migrateTask{310, 24, 32, 36}, 44, 1, 7, 0, 1))
	f.Add(format618, tracepointSample(migrateTask{371, 12, 20, 24}, 44, 1, 7, 1, 0))
	f.Add(strings.Replace(format618, "offset:24;", "offset:65535;", 1), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, text string, sample []byte) {
		m, err := parseMigrateTask(text)
		if err != nil {
			require.Zero(t, m)
			return
		}
		if _, _, err := m.move(sample); err != nil {
			require.ErrorIs(t, err, errRing)
		}
	})
}
