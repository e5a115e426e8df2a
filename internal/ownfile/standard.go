//go:build linux

package ownfile

import "golang.org/x/sys/unix"

// Standard is one of the descriptors whose numbers have a meaning. They are the program's, whatever it put there.
type Standard int

// Standard output and standard error.
const (
	Stdout Standard = 1
	Stderr Standard = 2
)

// Write writes all of b, also where the descriptor does not block and its reader is slow. Unlike os.Stdout's, it does
// not end the process when there is no reader: SIGPIPE goes to the thread that writes, which is one of Go's, where it is
// blocked, and not the program's that called us.
func (s Standard) Write(b []byte) (written int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		written, err = s.write(b)
	}()
	<-done
	return written, err
}

func (s Standard) write(b []byte) (written int, err error) {
	for written < len(b) {
		n, err := unix.Write(int(s), b[written:])
		if n > 0 {
			written += n
		}
		switch err {
		case nil, unix.EINTR:
		case unix.EAGAIN:
			if err := s.await(); err != nil {
				return written, err
			}
		default:
			return written, err
		}
	}
	return written, nil
}

// await waits until a descriptor that does not block can be written to, a second at most: a pipe that then still has no
// room for a line has no reader.
func (s Standard) await() error {
	ready := []unix.PollFd{{Fd: int32(s), Events: unix.POLLOUT}}
	n, err := unix.Poll(ready, 1000)
	if n == 0 && err == nil {
		return unix.EAGAIN
	}
	if err == unix.EINTR {
		return nil
	}
	return err
}
