package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/testkit"
)

// A library that writes its argument's file, and says whether malloc and the linker work in its thread.
const loadedLibrary = `
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int proton_attach(const char *path) {
  char *room = malloc(1 << 20);
  FILE *f = fopen(path, "a");
  if (!f || !room || !dlopen("libm.so.6", RTLD_NOW)) return 1;
  fprintf(f, "loaded\n");
  return free(room), fclose(f);
}`

// A program whose thread waits in a system call of a kind, with values in vector registers that must be as before.
const waitingProgram = `
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
static void *sleeps(void *p) { for (;;) pause(); return p; }
int main(int argc, char **argv) {
  char *how = argv[1];
  pthread_t t;
  if (!strcmp(how, "threads")) for (int i = 0; i < 20; i++) pthread_create(&t, NULL, sleeps, NULL);
  int epoll = epoll_create1(0), pipes[2];
  if (pipe(pipes)) return 9;
  struct epoll_event e;
  struct timespec wait = {0, 200000000};
  for (int i = 0; i < 1000; i++) {
    double sum = 0;
    for (int k = 0; k < 1000; k++) sum += k * 0.5;
    if (!strcmp(how, "poll") && poll(NULL, 0, 200)) return 1;
    if (!strcmp(how, "epoll") && epoll_wait(epoll, &e, 1, 200) && errno != EINTR) return 2;
    if (strcmp(how, "poll") && strcmp(how, "epoll") && nanosleep(&wait, NULL)) return 3;
    if (sum != 249750) return 4;
    if (argc > 2 && !access(argv[2], F_OK)) return 7;
  }
  return 5;
}`

func compiled(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("gcc", append([]string{"-O2", "-x", "c", "-", "-o", path}, flags...)...)
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	return path
}

// target starts a program that ends with 7 when its file is there.
func target(t *testing.T, program, how string) (pid int, ended func() error) {
	t.Helper()
	stop := filepath.Join(t.TempDir(), "stop")
	cmd := exec.Command(program, how, stop)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := false
	t.Cleanup(func() {
		if !waited {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	testkit.Await(t, "the program waits", func() bool { return len(waiting(cmd.Process.Pid)) > 0 })
	return cmd.Process.Pid, func() error {
		waited = true
		if err := os.WriteFile(stop, nil, 0o600); err != nil {
			return err
		}
		return cmd.Wait()
	}
}

func skipWithoutPtrace(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "attach to process") {
		t.Skip(err)
	}
}

func TestInject(t *testing.T) {
	library, program := compiled(t, "libloaded.so", loadedLibrary, "-shared", "-fPIC"), compiled(t, "waits", waitingProgram, "-pthread")
	for _, how := range []string{"nanosleep", "poll", "epoll", "threads"} {
		t.Run(how, func(t *testing.T) {
			pid, end := target(t, program, how)
			file := filepath.Join(t.TempDir(), "loaded")
			for n := 1; n <= 3; n++ { // again, too
				err := inject(pid, library, file)
				skipWithoutPtrace(t, err)
				if err != nil {
					t.Fatal(err)
				}
				testkit.Await(t, "the library is called", func() bool {
					text, _ := os.ReadFile(file)
					return strings.Count(string(text), "loaded\n") == n
				})
			}
			if err := end(); err == nil || err.Error() != "exit status 7" {
				t.Errorf("the program: %v", err)
			}
		})
	}
}

// The process that attaches may be killed before every step: the program goes on, and can be attached to again.
func TestInjectThatIsKilled(t *testing.T) {
	if at := os.Getenv("KILL_AT"); at != "" {
		step = func(now string) {
			if now == at {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		pid, _ := strconv.Atoi(os.Getenv("KILL_PID")) //nolint:errcheck // 0
		t.Fatal(inject(pid, os.Getenv("KILL_LIBRARY"), os.Getenv("KILL_FILE")))
	}
	library, program := compiled(t, "libloaded.so", loadedLibrary, "-shared", "-fPIC"), compiled(t, "waits", waitingProgram, "-pthread")
	for _, at := range []string{"seize", "interrupt", "write", "registers", "detach"} {
		t.Run(at, func(t *testing.T) {
			pid, end := target(t, program, "nanosleep")
			file := filepath.Join(t.TempDir(), "loaded")
			killed := exec.Command(os.Args[0], "-test.run=^TestInjectThatIsKilled$")
			killed.Env = append(os.Environ(), "KILL_AT="+at, "KILL_PID="+strconv.Itoa(pid), "KILL_LIBRARY="+library, "KILL_FILE="+file)
			out, err := killed.CombinedOutput()
			if err == nil || err.Error() != "signal: killed" {
				if strings.Contains(string(out), "attach to process") {
					t.Skip(string(out))
				}
				t.Fatalf("%v\n%s", err, out)
			}
			calls := func() int {
				text, _ := os.ReadFile(file)
				return strings.Count(string(text), "loaded\n")
			}
			if at == "detach" { // the registers are set
				testkit.Await(t, "the library is called without the process that attached", func() bool { return calls() == 1 })
			} else {
				time.Sleep(300 * time.Millisecond)
			}
			before := calls()
			if _, lives := procstat.Began(pid); !lives {
				t.Fatal("the program has ended")
			}
			if err := inject(pid, library, file); err != nil {
				t.Fatal(err)
			}
			testkit.Await(t, "the library is called", func() bool { return calls() == before+1 })
			if err := end(); err == nil || err.Error() != "exit status 7" {
				t.Errorf("the program: %v", err)
			}
		})
	}
}

func TestProgramsThatCannotBeAttachedTo(t *testing.T) {
	library := compiled(t, "libproton.so", loadedLibrary, "-shared", "-fPIC")
	layout := Layout{Library: library}
	static, dynamic := compiled(t, "static", waitingProgram, "-static", "-pthread"), compiled(t, "dynamic", waitingProgram, "-pthread")
	for _, c := range []struct{ program, want string }{
		{static, "is linked statically"},
		{dynamic, "has not loaded libcuda.so or libamdhip64.so"},
	} {
		pid, end := target(t, c.program, "poll")
		if _, err := attachable(pid, layout); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.program, err)
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		testkit.Await(t, "it is stopped", func() bool { return procstat.Stopped(pid) })
		if _, err := attachable(pid, layout); err == nil || !strings.Contains(err.Error(), "is stopped") {
			t.Errorf("stopped: %v", err)
		}
		_ = syscall.Kill(pid, syscall.SIGCONT)
		if err := end(); err == nil || err.Error() != "exit status 7" {
			t.Errorf("the program: %v", err)
		}
	}
	if _, err := attachable(2147483646, layout); err == nil || !strings.Contains(err.Error(), "there is no process") {
		t.Error(err)
	}
	for maps, want := range map[string]string{
		"7f00 r-xp /lib/ld-musl-x86_64.so.1\n":                             "musl",
		"7f00 r-xp /lib/libc.so.6\n7f00 r-xp /opt/rocm/libamdhip64.so.6\n": "HIP",
	} {
		if err := checkProgram(os.Getpid(), maps, library); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", maps, err)
		}
	}
}
