package ctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Socket is the one that a profiled process listens at. The program may close its descriptor or reuse the number at any time, so it
// is compared with the socket before each use, like a file of package ownfile. Nothing waits in the kernel: a thread of its own could be
// one too many for the program.
type Socket struct {
	path   string
	file   uint64 // inode of the path
	socket descriptor
	answer func(command string) Answer

	once          sync.Once
	stop, stopped chan struct{}
}

// descriptor is an open socket of ours.
type descriptor struct {
	number int
	device uint64
	inode  uint64
}

// lowest is the least number of our descriptors: low ones are left to the program.
const lowest = 200

// every is the pause between two looks for a client.
const every = 20 * time.Millisecond

// Listen makes the socket of this process and answers its clients, one at a time, from a goroutine.
func Listen(env func(string) string, answer func(command string) Answer) (*Socket, error) {
	s := &Socket{answer: answer, stop: make(chan struct{}), stopped: make(chan struct{})}
	var err error
	for _, folder := range folders(env) {
		failed := s.bind(folder)
		if failed == nil {
			go s.run()
			return s, nil
		}
		err = errors.Join(err, failed)
	}
	return nil, fmt.Errorf("listen to proton ctl: %w", err)
}

func (s *Socket) bind(folder string) error {
	if err := made(folder); err != nil {
		return err
	}
	s.path = socketIn(folder, os.Getpid())
	if err := os.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) { // of an earlier process of this number
		return err
	}
	number, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	d, err := raised(number)
	if err != nil {
		return err
	}
	err = unix.Bind(d.number, &unix.SockaddrUnix{Name: s.path})
	if err == nil {
		err = unix.Chmod(s.path, 0o600)
	}
	if err == nil {
		err = unix.Listen(d.number, 8)
	}
	var info unix.Stat_t
	if err == nil {
		err = unix.Lstat(s.path, &info)
	}
	if err != nil {
		d.close()
		return fmt.Errorf("make %s: %w", s.path, err)
	}
	s.socket, s.file = d, info.Ino
	return nil
}

// Descriptor is the number of the socket, for a forked child, which has to close it.
func (s *Socket) Descriptor() int { return s.socket.number }

// Close ends it. It waits for a client whose command is being carried out, but not longer than a moment: the process ends.
func (s *Socket) Close() {
	s.once.Do(func() {
		close(s.stop)
		select {
		case <-s.stopped:
		case <-time.After(2 * every):
		}
		var info unix.Stat_t
		if unix.Lstat(s.path, &info) == nil && info.Ino == s.file {
			os.Remove(s.path)
		}
		s.socket.close()
	})
}

func (s *Socket) run() {
	defer close(s.stopped)
	for {
		select {
		case <-s.stop:
			return
		case <-time.After(every):
		}
		for s.serve() {
		}
	}
}

// serve answers one client, if there is one.
func (s *Socket) serve() bool {
	defer func() { _ = recover() }() // a bug of ours must not end the program
	if !s.socket.ours() {
		return false // the program has closed it
	}
	number, _, err := unix.Accept4(s.socket.number, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		return false
	}
	client, err := raised(number)
	if err != nil {
		return true
	}
	defer client.close()
	who, err := unix.GetsockoptUcred(client.number, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || int(who.Uid) != os.Geteuid() {
		client.write(Answer{PID: os.Getpid(), Error: "only the user of the process can control it"})
		return true
	}
	if command, ok := client.read(s.stop); ok {
		client.write(s.answer(command))
	} else {
		client.write(Answer{PID: os.Getpid(), Error: "the command is not one of " + strings.Join(Commands, ", ")})
	}
	return true
}

// raised moves a new socket to a higher number.
func raised(number int) (descriptor, error) {
	var info unix.Stat_t
	if err := unix.Fstat(number, &info); err != nil {
		return descriptor{}, err
	}
	d := descriptor{number, info.Dev, info.Ino}
	high, err := unix.FcntlInt(uintptr(number), unix.F_DUPFD_CLOEXEC, lowest)
	if err != nil {
		if number > 2 {
			return d, nil // the process may not have so many
		}
		d.close()
		return d, err
	}
	d.close()
	d.number = high
	return d, nil
}

func (d descriptor) ours() bool {
	var info unix.Stat_t
	return unix.Fstat(d.number, &info) == nil && info.Dev == d.device && info.Ino == d.inode
}

func (d descriptor) close() {
	if d.ours() {
		unix.Close(d.number)
	}
}

// read reads a command. It is false if the client sends something else, is too slow, or goes away.
func (d descriptor) read(stop <-chan struct{}) (command string, ok bool) {
	var text []byte
	buffer := make([]byte, mostCommand)
	for end := time.Now().Add(commandPatience); time.Now().Before(end) && d.ours(); {
		n, err := unix.Read(d.number, buffer[:mostCommand-len(text)])
		switch {
		case err == unix.EAGAIN || err == unix.EINTR:
			select {
			case <-stop:
				return "", false
			case <-time.After(2 * time.Millisecond):
			}
			continue
		case err != nil || n <= 0:
			return "", false
		}
		text = append(text, buffer[:n]...)
		if line, _, whole := strings.Cut(string(text), "\n"); whole {
			return line, isCommand(line)
		}
		if len(text) == mostCommand {
			return "", false
		}
	}
	return "", false
}

func isCommand(word string) bool {
	return word == Kernels || slices.Contains(Commands, word)
}

// write writes an answer, which fits the kernel's buffer of a new socket. A client that does not read it loses it.
func (d descriptor) write(a Answer) {
	line, err := json.Marshal(a)
	if err != nil || len(line) >= mostAnswer || !d.ours() {
		return
	}
	_ = unix.Sendto(d.number, append(line, '\n'), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, nil)
}
