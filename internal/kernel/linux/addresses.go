package linux

import (
	"io/fs"
	"strconv"

	"gorun/internal/kernel/sysfs"
)

// addrNoRandomize is ADDR_NO_RANDOMIZE of personality(2). setarch(8) -R and debuggers set it, and children inherit it.
const addrNoRandomize = 0x0040000

// FixedAddresses reports whether a program that this process starts has the same addresses each time: because of
// /proc/sys/kernel/randomize_va_space, or of this process's personality (/proc/self/personality, proc_pid_personality(5)).
func FixedAddresses(root fs.FS) bool {
	if text, err := sysfs.ReadString(root, "proc/sys/kernel/randomize_va_space"); err == nil && text == "0" {
		return true
	}
	text, err := sysfs.ReadString(root, "proc/self/personality")
	if err != nil {
		return false
	}
	persona, err := strconv.ParseUint(text, 16, 32)
	return err == nil && persona&addrNoRandomize != 0
}
