//go:build linux

package ctl

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// runtimeFolder returns an environment whose sockets lie in a folder of the test, and that folder.
func runtimeFolder(t *testing.T) (env func(string) string, folder string) {
	t.Helper()
	runtime, err := os.MkdirTemp("", "ctl") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	return func(name string) string {
		if name == "XDG_RUNTIME_DIR" {
			return runtime
		}
		return ""
	}, filepath.Join(runtime, "goproton")
}

func listen(t *testing.T, env func(string) string, answer func(string) Answer) *Socket {
	t.Helper()
	s, err := Listen(env, answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func echo(command string) Answer {
	return Answer{PID: os.Getpid(), Command: "got " + command, State: Recording}
}

func mine(t *testing.T, env func(string) string) Entry {
	t.Helper()
	list, err := List(env)
	if err != nil {
		t.Fatal(err)
	}
	of, err := Of(list, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return of[0]
}

func TestCommandAndAnswer(t *testing.T) {
	env, folder := runtimeFolder(t)
	s := listen(t, env, echo)
	for _, command := range Commands {
		if a, err := mine(t, env).Send(command); err != nil || a.Command != "got "+command || a.State != Recording {
			t.Errorf("%s: %+v, %v", command, a, err)
		}
	}
	if _, err := mine(t, env).Send("halt"); err == nil || !strings.Contains(err.Error(), "not one of start, stop, status") {
		t.Errorf("an unknown command: %v", err)
	}
	for path, mode := range map[string]os.FileMode{folder: 0o700, s.path: 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, mode)
		}
	}
	e := mine(t, env)
	s.Close()
	if _, err := os.Lstat(s.path); !os.IsNotExist(err) {
		t.Errorf("the socket stays: %v", err)
	}
	if _, err := e.Send("status"); err == nil || !strings.Contains(err.Error(), "does not listen any more") {
		t.Errorf("after the end: %v", err)
	}
}

// Sockets of processes that have ended are replaced and removed.
func TestStaleSockets(t *testing.T) {
	env, folder := runtimeFolder(t)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{fmt.Sprint(os.Getpid()), "2147483646"} {
		path := filepath.Join(folder, name+".sock")
		if l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path}); err != nil {
			t.Fatal(err)
		} else {
			l.SetUnlinkOnClose(false)
			l.Close()
		}
	}
	listen(t, env, echo)
	if _, err := mine(t, env).Send("status"); err != nil {
		t.Error(err)
	}
	if list, err := List(env); err != nil || len(list) != 1 {
		t.Errorf("%d processes, %v; want this one", len(list), err)
	}
	if _, err := os.Lstat(filepath.Join(folder, "2147483646.sock")); !os.IsNotExist(err) {
		t.Errorf("a stale socket stays: %v", err)
	}
}

// A folder that others can enter, or that is a link, is not used.
func TestFoldersThatAreNotPrivate(t *testing.T) {
	for name, make := range map[string]func(folder string) error{
		"open to other users": func(folder string) error {
			if err := os.Mkdir(folder, 0o700); err != nil {
				return err
			}
			return os.Chmod(folder, 0o750)
		},
		"is not a folder": func(folder string) error { return os.Symlink(t.TempDir(), folder) },
		"belongs to user": func(folder string) error {
			if os.Geteuid() != 0 {
				t.Log("needs root to give a folder to another user")
				return nil
			}
			if err := os.Mkdir(folder, 0o700); err != nil {
				return err
			}
			return os.Chown(folder, 12345, -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, folder := runtimeFolder(t)
			if err := make(folder); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(folder); err != nil {
				t.Skip("needs root to give a folder to another user")
			}
			if err := verified(folder); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("the client: %v", err)
			}
			if err := new(Socket).bind(folder); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("the process: %v", err)
			}
		})
	}
}

// Clients that send garbage, half a command or nothing, or too much, are sent away; the next client is served.
func TestClientsThatMisbehave(t *testing.T) {
	env, _ := runtimeFolder(t)
	s := listen(t, env, echo)
	for name, text := range map[string]string{
		"garbage": "\xff\x00\xfe\n", "long": strings.Repeat("x", 1<<16), "half": "sta", "nothing": "", "two lines": "status\nstart\n", "empty": "\n",
	} {
		conn, err := net.Dial("unix", s.path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text)) // the process may have closed it
		if name == "half" {
			conn.(*net.UnixConn).CloseWrite()
		}
		if _, err := mine(t, env).Send("status"); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
		conn.Close()
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	env, _ := runtimeFolder(t)
	listen(t, env, echo)
	var all sync.WaitGroup
	for range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			if list, err := List(env); err != nil || len(list) != 1 {
				t.Error(list, err)
			} else if _, err := list[0].Send("status"); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
}

// The program closes all descriptors and gets the number for a file of its own: that file is neither read nor closed.
func TestDescriptorOfTheProgram(t *testing.T) {
	env, _ := runtimeFolder(t)
	s := listen(t, env, echo)
	number := s.Descriptor()
	if number < lowest {
		t.Errorf("the socket has the descriptor %d: low ones are the program's", number)
	}
	var pair [2]int
	if err := unix.Pipe(pair[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	if err := unix.Dup3(pair[0], number, 0); err != nil {
		t.Fatal(err)
	}
	unix.Close(pair[0])
	time.Sleep(3 * every)
	s.Close()
	if _, err := unix.Write(pair[1], []byte("x")); err != nil {
		t.Errorf("the program's pipe: %v", err)
	}
	if n, err := unix.Read(number, make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("the program's descriptor: %d, %v", n, err)
	}
	unix.Close(number)
}

func TestProcessesThatCannotBeControlled(t *testing.T) {
	env, _ := runtimeFolder(t)
	listen(t, env, echo)
	list, err := List(env)
	if err != nil {
		t.Fatal(err)
	}
	if of, err := Of(list, os.Getppid()); err != nil || len(of) != 1 || of[0].PID != os.Getpid() {
		t.Errorf("the process above: %v, %v", of, err)
	}
	if _, err := Of(list, 2147483646); err == nil || !strings.Contains(err.Error(), "there is no process 2147483646") {
		t.Error(err)
	}
	if _, err := Of(nil, os.Getpid()); err == nil || !strings.Contains(err.Error(), "proton run --ctl") {
		t.Error(err)
	}
}

// A process that does not answer is not waited for without end.
func TestAnswerThatDoesNotCome(t *testing.T) {
	defer func(before time.Duration) { patience = before }(patience)
	patience = 100 * time.Millisecond
	env, _ := runtimeFolder(t)
	release := make(chan struct{})
	listen(t, env, func(string) Answer { <-release; return Answer{} })
	_, err := mine(t, env).Send("stop")
	if err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Error(err)
	}
	close(release)
}
