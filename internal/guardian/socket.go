package guardian

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// The maximum size of a message, in bytes and in files.
const (
	maxBytes = 1 << 16
	maxFiles = 8
)

// socketPair returns a connection that preserves message boundaries and can pass files (unix(7)).
func socketPair() (a, b *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "orders"), os.NewFile(uintptr(fds[1]), "orders"), nil
}

func send(to *os.File, text []byte, files []*os.File) error {
	if len(text) > maxBytes || len(files) > maxFiles {
		return fmt.Errorf("a message of %d bytes and %d files is too long", len(text), len(files))
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = syscall.UnixRights(fds...)
	}
	err := retry(func() error { return syscall.Sendmsg(int(to.Fd()), text, rights, nil, 0) })
	return os.NewSyscallError("sendmsg", err)
}

// receive returns the next message; io.EOF when the other side is closed.
func receive(from *os.File) (text []byte, files []*os.File, err error) {
	text, rights := make([]byte, maxBytes), make([]byte, syscall.CmsgSpace(4*maxFiles))
	var n, used int
	err = retry(func() (err error) {
		n, used, _, _, err = syscall.Recvmsg(int(from.Fd()), text, rights, 0)
		return err
	})
	if err != nil {
		return nil, nil, os.NewSyscallError("recvmsg", err)
	}
	if n == 0 {
		return nil, nil, io.EOF
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:used])
	if err != nil {
		return nil, nil, os.NewSyscallError("recvmsg", err)
	}
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return nil, nil, os.NewSyscallError("recvmsg", err)
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "kept"))
		}
	}
	return text[:n], files, nil
}

// retry repeats a call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
