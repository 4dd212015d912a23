package linux

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Memfd returns a file of zeros in memory, of this size (memfd_create(2)). Processes that inherit it share the memory
// that MapShared maps. It is closed on execve(2), like every file that Go opens.
func Memfd(name string, bytes int) (*os.File, error) {
	op := fmt.Sprintf("make a file of %d bytes in memory", bytes)
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL) // required by vm.memfd_noexec=2
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC) // before Linux 6.3
	}
	if err != nil {
		return nil, &Error{Op: op, Err: err}
	}
	file := os.NewFile(uintptr(fd), name)
	if err := unix.Ftruncate(fd, int64(bytes)); err != nil {
		return nil, errors.Join(&Error{Op: op, Err: err}, file.Close())
	}
	return file, nil
}

// MapShared maps the first bytes of a file, starting at a page boundary (mmap(2), MAP_SHARED). They stay mapped when
// the file is closed.
func MapShared(file *os.File, bytes int) ([]byte, error) {
	memory, err := unix.Mmap(int(file.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, &Error{Op: fmt.Sprintf("map %d shared bytes", bytes), Err: err}
	}
	return memory, nil
}

// UnmapShared undoes MapShared. The memory must not be accessed afterwards.
func UnmapShared(memory []byte) error {
	if err := unix.Munmap(memory); err != nil {
		return &Error{Op: fmt.Sprintf("unmap %d shared bytes", len(memory)), Err: err}
	}
	return nil
}
