package linux

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Memfd returns a file of so many zero bytes that has no place but memory (memfd_create(2)). Processes that inherit it
// share what MapShared maps. It is closed on execve(2), as every file of Go's.
func Memfd(name string, bytes int) (*os.File, error) {
	op := fmt.Sprintf("make a file of %d bytes in memory", bytes)
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL) // what vm.memfd_noexec=2 asks for
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

// MapShared maps the first bytes of a file, which stays mapped when the file is closed (mmap(2), MAP_SHARED). They begin
// at a page boundary.
func MapShared(file *os.File, bytes int) ([]byte, error) {
	memory, err := unix.Mmap(int(file.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, &Error{Op: fmt.Sprintf("map %d shared bytes", bytes), Err: err}
	}
	return memory, nil
}

// UnmapShared takes MapShared back. Nobody may touch the memory after that.
func UnmapShared(memory []byte) error {
	if err := unix.Munmap(memory); err != nil {
		return &Error{Op: fmt.Sprintf("unmap %d shared bytes", len(memory)), Err: err}
	}
	return nil
}
