package linux

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// mostFiles is the greatest number of files that are sent at once.
const mostFiles = 8

// Socket is one end of a stream between two processes, which can also pass files (unix(7)).
type Socket struct {
	*net.UnixConn
	Files   []*os.File // that came with the bytes that were read
	Dropped bool       // files came too, and this process may not have more (EMFILE)
}

// SocketPair returns the two ends of a stream, closed on exec. The other end is for a process to be started.
func SocketPair() (ours *Socket, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "socket")
	if ours, err = OpenSocket(os.NewFile(uintptr(fds[0]), "socket")); err != nil {
		theirs.Close()
	}
	return ours, theirs, err
}

// OpenSocket returns the end of a stream that this process got as a file, and closes the file.
func OpenSocket(file *os.File) (*Socket, error) {
	defer file.Close()
	conn, err := net.FileConn(file) // a duplicate, closed on exec
	if err != nil {
		return nil, err
	}
	stream, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("descriptor %d is no Unix socket", file.Fd())
	}
	return &Socket{UnixConn: stream}, nil
}

// Send sends files, with a line end. The other side has them when it has read what is written next.
func (s *Socket) Send(files ...*os.File) error {
	if len(files) == 0 {
		return nil
	}
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	_, _, err := s.WriteMsgUnix([]byte("\n"), unix.UnixRights(fds...), nil)
	return err
}

// Read reads bytes, and opens the files that come with them.
func (s *Socket) Read(text []byte) (int, error) {
	if len(text) == 0 {
		return 0, nil // ReadMsgUnix would read a byte, for the files
	}
	control := make([]byte, unix.CmsgSpace(4*mostFiles))
	n, used, flags, _, err := s.ReadMsgUnix(text, control) // it closes them on exec
	s.Dropped = s.Dropped || flags&unix.MSG_CTRUNC != 0
	messages, _ := unix.ParseSocketControlMessage(control[:used])
	for _, m := range messages {
		fds, _ := unix.ParseUnixRights(&m)
		for _, fd := range fds {
			s.Files = append(s.Files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	if errors.Is(err, io.EOF) {
		err = io.EOF
	}
	return max(0, n), err // ReadMsgUnix returns -1 with an error
}
