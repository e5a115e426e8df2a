//go:build linux

package ownfile

import "golang.org/x/sys/unix"

// Standard is a standard descriptor. It is the program's, and leads to whatever the program has opened under that number.
type Standard int

// Standard output and standard error.
const (
	Stdout Standard = 1
	Stderr Standard = 2
)

// Write writes all of b, also if the descriptor is non-blocking and its reader is slow. Unlike os.Stdout's Write, it does not end
// the process if there is no reader: SIGPIPE goes to the thread that writes, which is one of Go's, where the signal is blocked.
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

// await waits until a non-blocking descriptor can be written to, a second at most: a pipe that is still full then has no reader.
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
