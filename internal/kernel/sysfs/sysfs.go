// Package sysfs reads the small files of /sys and /proc as typed values. Every function takes an fs.FS rooted at /,
// with names such as "sys/devices/system/cpu/online", so that a captured machine is read in the same way as this one.
//
// An absent file gives an error that wraps fs.ErrNotExist. Content in another format than the kernel's gives an error
// that wraps ErrMalformed and names the file. Other errors are those of the fs.FS.
package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"gorun/internal/kernel/cpuset"
)

// ErrMalformed is wrapped by the error for a file with malformed content.
var ErrMalformed = errors.New("malformed")

// Malformed returns an error that wraps ErrMalformed, names the file and says what is wrong with it.
func Malformed(name, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", name, ErrMalformed, fmt.Sprintf(format, args...))
}

// ReadString reads a file, without the white space around its content.
func ReadString(fsys fs.FS, name string) (string, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return "", readError(name, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// readError adds the file's name unless the error already has it, as most do.
func readError(name string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// read reads a file and parses its content.
func read[T any](fsys fs.FS, name string, parse func(text string) (T, error)) (value T, err error) {
	text, err := ReadString(fsys, name)
	if err != nil {
		return value, err
	}
	parsed, err := parse(text)
	if err != nil {
		return value, fmt.Errorf("%s: %w: %w", name, ErrMalformed, err)
	}
	return parsed, nil
}

// ReadInt reads a file that holds one decimal number.
func ReadInt(fsys fs.FS, name string) (int, error) { return read(fsys, name, parseInt) }

func parseInt(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s is not a whole number", quote(text))
	}
	return n, nil
}

// ReadInts reads a file of decimal numbers separated by white space, such as a node's distances.
func ReadInts(fsys fs.FS, name string) ([]int, error) {
	return read(fsys, name, func(text string) (numbers []int, err error) {
		for field := range strings.FieldsSeq(text) {
			n, err := parseInt(field)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, n)
		}
		return numbers, nil
	})
}

// ReadSize reads a file that holds a size such as a cache's "32768K" and returns bytes.
func ReadSize(fsys fs.FS, name string) (uint64, error) {
	return read(fsys, name, func(text string) (uint64, error) {
		digits, shift := text, 0
		switch {
		case strings.HasSuffix(text, "K"):
			digits, shift = text[:len(text)-1], 10
		case strings.HasSuffix(text, "M"):
			digits, shift = text[:len(text)-1], 20
		}
		// 2^43 MiB is the greatest size that fits in 64 bits.
		n, err := strconv.ParseUint(digits, 10, 43)
		if err != nil {
			return 0, fmt.Errorf("%s is not a size", quote(text))
		}
		return n << shift, nil
	})
}

// ReadSet reads a file in the kernel's list format, "0-3,8". An empty file is the empty set.
func ReadSet(fsys fs.FS, name string) (cpuset.Set, error) { return read(fsys, name, cpuset.Parse) }

// ReadMask reads a file in the kernel's bitmap format; see ParseMask.
func ReadMask(fsys fs.FS, name string) (cpuset.Set, error) { return read(fsys, name, ParseMask) }

// ParseMask reads the kernel's bitmap format (lib/vsprintf.c, bitmap_string): groups of up to eight hexadecimal digits,
// 32 CPUs each, joined by commas, the highest first: "ff,00000001" holds CPUs 0 and 32-39.
func ParseMask(text string) (cpuset.Set, error) {
	const most = (cpuset.Max + 1) / 32
	text = strings.TrimSpace(strings.TrimRight(text, "\x00"))
	groups := strings.Count(text, ",") + 1
	if groups > most {
		return cpuset.Set{}, fmt.Errorf("not a CPU bitmap: more than %d CPUs", cpuset.Max+1)
	}
	words := make([]uint64, (groups+1)/2)
	for field := range strings.SplitSeq(text, ",") {
		groups--
		bits, err := strconv.ParseUint(field, 16, 32)
		if err != nil || len(field) > 8 {
			return cpuset.Set{}, fmt.Errorf("not a CPU bitmap: %s", quote(field))
		}
		words[groups/2] |= bits << (groups % 2 * 32)
	}
	return cpuset.FromWords(words), nil
}

// ReadField reads a field of a file with lines of "Name:\tvalue", such as /proc/self/status. A missing field gives an
// error that wraps fs.ErrNotExist.
func ReadField(fsys fs.FS, name, field string) (string, error) {
	text, err := ReadString(fsys, name)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == field {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("%s: field %s: %w", name, field, fs.ErrNotExist)
}

// ReadKB reads a field such as "MemTotal:  131072 kB" (proc_meminfo(5)) and returns bytes. In a node's meminfo the
// field is called "Node 0 MemTotal".
func ReadKB(fsys fs.FS, name, field string) (uint64, error) {
	text, err := ReadField(fsys, name, field)
	if err != nil {
		return 0, err
	}
	digits, unit, _ := strings.Cut(text, " ")
	n, err := strconv.ParseUint(digits, 10, 54)
	if err != nil || strings.TrimSpace(unit) != "kB" {
		return 0, Malformed(name, "field %s: %s is not a number of kB", field, quote(text))
	}
	return n << 10, nil
}

// ReadLink returns the target of a symbolic link as written there: "../../devices/pci0000:00/…". A captured machine
// is an archive of plain files, in which the content of a file is the target, as in git without symbolic links
// (core.symlinks).
func ReadLink(fsys fs.FS, name string) (string, error) {
	if links, ok := fsys.(interface{ ReadLink(string) (string, error) }); ok {
		target, err := links.ReadLink(name)
		if err == nil {
			return target, nil
		}
		// not a link, readlink(2)
		if !errors.Is(err, syscall.EINVAL) && !errors.Is(err, fs.ErrInvalid) {
			return "", readError(name, err)
		}
	}
	return ReadString(fsys, name)
}

// quote shortens a piece of a file to one line, for an error.
func quote(text string) string {
	const most = 40
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return strconv.Quote(text)
}
