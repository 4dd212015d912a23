package linux

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/sysfs"
)

// Mappings are the mappings of this process's address space, in ascending order.
type Mappings []namedRange

type namedRange struct {
	begin, end uint64
	name       string
}

// ReadMappings reads /proc/self/maps (proc_pid_maps(5)).
func ReadMappings(root fs.FS) (Mappings, error) {
	const file = "proc/self/maps"
	text, err := sysfs.ReadString(root, file)
	if err != nil {
		return nil, err
	}
	return parseMappings(text), nil
}

// parseMappings reads lines of "begin-end permissions offset device inode name"; memory without a name is anonymous.
func parseMappings(text string) Mappings {
	var mappings Mappings
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		begin, beginErr := strconv.ParseUint(from, 16, 64)
		end, endErr := strconv.ParseUint(to, 16, 64)
		if beginErr != nil || endErr != nil {
			continue
		}
		name := "anonymous"
		if len(fields) > 5 {
			name = strings.Join(fields[5:], " ")
		}
		if strings.HasPrefix(name, "/") {
			name = path.Base(name)
		}
		mappings = append(mappings, namedRange{begin, end, name})
	}
	return mappings
}

// Name returns the kernel's name for the mapping of an address: a file, "[heap]", "[stack]", or anonymous.
func (m Mappings) Name(address uint64) string {
	i := slices.IndexFunc(m, func(one namedRange) bool { return one.begin <= address && address < one.end })
	if i < 0 {
		return "not mapped any more"
	}
	return m[i].name
}
