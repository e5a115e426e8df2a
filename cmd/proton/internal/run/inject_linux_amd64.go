package run

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A library is loaded into a process that runs by one of its threads, which waits in a system call of the kind that no library makes with a lock
// held. Its registers are set to code that saves all of them, calls pthread_create, restores them and goes back into the system call. All
// else happens in the new thread: dlopen, dlsym, and a call of proton_attach. The code lies in the unused rest of the last page of a library's code.
//
// Until the registers are set, in one call, nothing has changed in the process; from then on it needs no other process. So the process that attaches may be
// killed at any moment.

// injected is this code, assembled:
//
//	entry:  lea -128(%rsp),%rsp; pushf; push all registers; cld; mov %rsp,%rbp
//	        sub $24576,%rsp; and $-64,%rsp; zero 512(%rsp) to 576(%rsp); xsave64 (%rsp) of all; mov %rsp,%rbx
//	        sub $64,%rsp; pthread_create(%rsp, NULL, start, NULL)
//	        xrstor64 (%rbx) of all; mov %rbp,%rsp; pop all registers; popf; lea 128(%rsp),%rsp; jmp *resume
//	start:  handle = dlopen(path, RTLD_NOW); f = dlsym(handle, "proton_attach"); f(argument); return NULL
//
// Behind it are the addresses of pthread_create, dlopen, dlsym and resume, and the texts argument and path.
var injected = []byte{
	0x48, 0x8d, 0x64, 0x24, 0x80, 0x9c, 0x50, 0x51, 0x52, 0x53, 0x55, 0x56, 0x57, 0x41, 0x50, 0x41,
	0x51, 0x41, 0x52, 0x41, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0xfc, 0x48, 0x89,
	0xe5, 0x48, 0x81, 0xec, 0x00, 0x60, 0x00, 0x00, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x8d, 0xbc, 0x24,
	0x00, 0x02, 0x00, 0x00, 0x31, 0xc0, 0xb9, 0x08, 0x00, 0x00, 0x00, 0xf3, 0x48, 0xab, 0xb8, 0xff,
	0xff, 0xff, 0xff, 0xba, 0xff, 0xff, 0xff, 0xff, 0x48, 0x0f, 0xae, 0x24, 0x24, 0x48, 0x89, 0xe3,
	0x48, 0x83, 0xec, 0x40, 0x48, 0x89, 0xe7, 0x31, 0xf6, 0x48, 0x8d, 0x15, 0x3f, 0x00, 0x00, 0x00,
	0x31, 0xc9, 0xff, 0x15, 0x80, 0x00, 0x00, 0x00, 0xb8, 0xff, 0xff, 0xff, 0xff, 0xba, 0xff, 0xff,
	0xff, 0xff, 0x48, 0x0f, 0xae, 0x2b, 0x48, 0x89, 0xec, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41,
	0x5c, 0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58, 0x5f, 0x5e, 0x5d, 0x5b, 0x5a, 0x59, 0x58,
	0x9d, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00, 0x00, 0xff, 0x25, 0x61, 0x00, 0x00, 0x00, 0x53,
	0x48, 0x8d, 0x3d, 0xc1, 0x00, 0x00, 0x00, 0xbe, 0x02, 0x00, 0x00, 0x00, 0xff, 0x15, 0x3e, 0x00,
	0x00, 0x00, 0x48, 0x85, 0xc0, 0x74, 0x1e, 0x48, 0x89, 0xc7, 0x48, 0x8d, 0x35, 0x18, 0x00, 0x00,
	0x00, 0xff, 0x15, 0x31, 0x00, 0x00, 0x00, 0x48, 0x85, 0xc0, 0x74, 0x09, 0x48, 0x8d, 0x3d, 0x35,
	0x00, 0x00, 0x00, 0xff, 0xd0, 0x31, 0xc0, 0x5b, 0xc3, 0x70, 0x72, 0x6f, 0x74, 0x6f, 0x6e, 0x5f,
	0x61, 0x74, 0x74, 0x61, 0x63, 0x68, 0x00, 0x90,
}

const (
	argumentRoom = 96       // bytes of the argument
	stackNeeded  = 96 << 10 // bytes below the stack pointer
)

// waits are system calls in which a thread may wait with no lock of a library's, the best ones first: the kernel begins them again. Threads also
// wait with futex for locks, and hold none of malloc's and the linker's then.
var waits = []uint64{
	unix.SYS_POLL, unix.SYS_PPOLL, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_SELECT, unix.SYS_PSELECT6, unix.SYS_WAIT4, unix.SYS_WAITID,
	unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_PAUSE, unix.SYS_FUTEX,
	unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT,
}

// region is a line of /proc/PID/maps.
type region struct {
	start, end, offset uint64
	access, path       string
}

func regionsOf(pid int) (list []region, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var r region
		var device string
		var inode uint64
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d", &r.start, &r.end, &r.access, &r.offset, &device, &inode); n < 6 {
			continue
		}
		if at := strings.IndexByte(line, '/'); at >= 0 {
			r.path = strings.TrimSpace(line[at:])
		} else if at := strings.IndexByte(line, '['); at >= 0 {
			r.path = strings.TrimSpace(line[at:])
		}
		list = append(list, r)
	}
	return list, nil
}

// loaded finds the first region of a library by the beginning of its file's name.
func loaded(regions []region, name string) (region, bool) {
	i := slices.IndexFunc(regions, func(r region) bool {
		base := filepath.Base(r.path)
		return strings.HasPrefix(r.path, "/") && (base == name || strings.HasPrefix(base, name+".") || strings.HasPrefix(base, strings.TrimSuffix(name, ".so")+"-2."))
	})
	if i < 0 {
		return region{}, false
	}
	return regions[i], true
}

// symbols are the addresses of functions of libc in a process, whichever of its libraries has them.
func symbols(pid int, regions []region, names ...string) (map[string]uint64, error) {
	found := map[string]uint64{}
	for _, library := range []string{"libc.so", "libpthread.so", "libdl.so"} {
		at, some := loaded(regions, library)
		if !some {
			continue
		}
		file, err := elf.Open(fmt.Sprintf("/proc/%d/root%s", pid, at.path))
		if err != nil {
			return nil, fmt.Errorf("read the functions of %s: %w", at.path, err)
		}
		list, err := file.DynamicSymbols()
		var base uint64
		for _, p := range file.Progs {
			if p.Type == elf.PT_LOAD {
				base = at.start - p.Vaddr + p.Off
				break
			}
		}
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("read the functions of %s: %w", at.path, err)
		}
		for _, s := range list {
			if _, have := found[s.Name]; !have && slices.Contains(names, s.Name) && s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
				found[s.Name] = base + s.Value
			}
		}
	}
	for _, name := range names {
		if found[name] == 0 {
			return nil, fmt.Errorf("the C library of the program has no function %s that could be found", name)
		}
	}
	return found, nil
}

// room finds unused bytes behind the code of a library: its last page is mapped whole, and the file says how much of it is code.
func room(pid int, regions []region, size int) (uint64, error) {
	for _, r := range regions {
		if r.access != "r-xp" || !strings.HasPrefix(r.path, "/") {
			continue
		}
		file, err := elf.Open(fmt.Sprintf("/proc/%d/root%s", pid, r.path))
		if err != nil {
			continue
		}
		for _, p := range file.Progs {
			if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 || p.Off&^0xfff != r.offset {
				continue
			}
			end := (r.start + p.Off - r.offset + p.Filesz + 63) &^ 63
			if end < r.end && r.end-end < 4096 && r.end-end >= uint64(size) {
				file.Close()
				return end, nil
			}
		}
		file.Close()
	}
	return 0, errors.New("no library of the program has unused room behind its code: this program cannot be attached to")
}

// inject has a thread of a process load a library and call its proton_attach with an argument.
func inject(pid int, library, argument string) error {
	runtime.LockOSThread() // ptrace is of a thread
	defer runtime.UnlockOSThread()
	regions, err := regionsOf(pid)
	if err != nil {
		return err
	}
	functions, err := symbols(pid, regions, "pthread_create", "dlopen", "dlsym")
	if err != nil {
		return err
	}
	if len(argument) >= argumentRoom {
		return fmt.Errorf("%s is too long: set TMPDIR to a folder with a shorter name", argument)
	}
	code := slices.Clone(injected)
	for _, name := range []string{"pthread_create", "dlopen", "dlsym"} {
		code = binary.LittleEndian.AppendUint64(code, functions[name])
	}
	resumeAt := len(code)
	code = append(code, make([]byte, 8+argumentRoom)...)
	copy(code[resumeAt+8:], argument)
	code = append(append(code, library...), 0)
	cave, err := room(pid, regions, len(code))
	if err != nil {
		return err
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		for _, tid := range waiting(pid) {
			done, err := hijack(pid, tid, regions, cave, code, resumeAt)
			if done || err != nil {
				return err
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("no thread of process %d waits in a system call that may be interrupted (it may be stopped, or calculate all the time): try again", pid)
		}
	}
}

// waiting lists the threads that wait, the best first.
func waiting(pid int) (tids []int) {
	rank := map[int]int{}
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) //nolint:errcheck // none
	for _, entry := range entries {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
		number, _, _ := strings.Cut(string(text), " ")
		if n, wrong := strconv.ParseUint(number, 10, 64); err == nil && wrong == nil && slices.Contains(waits, n) {
			rank[tid] = slices.Index(waits, n)
			tids = append(tids, tid)
		}
	}
	slices.SortFunc(tids, func(a, b int) int { return rank[a] - rank[b] })
	return tids
}

// step is called before each step of hijack; a test kills the process there.
var step = func(string) {}

// hijack sets the registers of a thread if it waits as it should. Whether or not it does, the thread goes on.
func hijack(pid, tid int, regions []region, cave uint64, code []byte, resumeAt int) (done bool, err error) {
	step("seize")
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, 0, 0, 0); errno != 0 {
		if errno == unix.ESRCH {
			return false, nil // the thread has ended
		}
		return false, whyNotTraced(pid, errno)
	}
	step("interrupt")
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_INTERRUPT, uintptr(tid), 0, 0, 0, 0); errno != 0 {
		return false, nil // ended; the kernel detaches
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(tid, &status, unix.WALL, nil); err != nil || !status.Stopped() {
		return false, nil
	}
	defer func() {
		step("detach")
		signal := uintptr(0)
		if s := status.StopSignal(); status>>16 == 0 { // it was about to get a signal
			signal = uintptr(s)
		}
		_, _, _ = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, signal, 0, 0)
	}()
	var r unix.PtraceRegsAmd64
	if status>>16 != unix.PTRACE_EVENT_STOP || status.StopSignal() != unix.SIGTRAP || unix.PtraceGetRegsAmd64(tid, &r) != nil || !resumable(&r) || !hasStack(regions, r.Rsp) {
		return false, nil
	}
	binary.LittleEndian.PutUint64(code[resumeAt:], r.Rip)
	step("write")
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return false, fmt.Errorf("write into process %d: %w", pid, err)
	}
	defer memory.Close()
	if _, err := memory.WriteAt(code, int64(cave)); err != nil {
		return false, fmt.Errorf("write into process %d: %w", pid, err)
	}
	read := make([]byte, len(code))
	if _, err := io.ReadFull(io.NewSectionReader(memory, int64(cave), int64(len(code))), read); err != nil || !bytes.Equal(read, code) {
		return false, fmt.Errorf("write into process %d: its memory did not take the code", pid)
	}
	r.Rip, r.Orig_rax = cave, ^uint64(0)
	step("registers")
	if err := unix.PtraceSetRegsAmd64(tid, &r); err != nil {
		return false, fmt.Errorf("set the registers of process %d: %w", pid, err)
	}
	return true, nil
}

// resumable changes registers to those with which the kernel would begin an interrupted system call again. It is false for a thread that is not
// in one of those in which it may be interrupted.
func resumable(r *unix.PtraceRegsAmd64) bool {
	const restartSys, restartBlock, restartSyscall = -512, -516, 219
	if !slices.Contains(waits, r.Orig_rax) {
		return false
	}
	switch result := int64(r.Rax); {
	case result == restartBlock:
		r.Rax = restartSyscall
	case result <= restartSys && result > restartBlock:
		r.Rax = r.Orig_rax
	case result == -int64(unix.EINTR): // of epoll, which the kernel does not begin again
		return true
	default:
		return false // it has ended, and what comes next may be anything
	}
	r.Rip -= 2 // the instruction syscall
	return true
}

// hasStack reports whether a thread has room on its stack. The main thread's grows.
func hasStack(regions []region, at uint64) bool {
	return slices.ContainsFunc(regions, func(r region) bool {
		return at > r.start && at <= r.end && (r.path == "[stack]" || at-r.start >= stackNeeded)
	})
}

// whyNotTraced says what a refusal of ptrace comes from, and what to do.
func whyNotTraced(pid int, errno error) error {
	what := fmt.Sprintf("attach to process %d: %v", pid, errno)
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) //nolint:errcheck // empty
	for line := range strings.Lines(string(status)) {
		if tracer, ok := strings.CutPrefix(line, "TracerPid:"); ok && strings.TrimSpace(tracer) != "0" {
			return fmt.Errorf("%s: process %s, a debugger, strace or the like, is attached to it: end that first", what, strings.TrimSpace(tracer))
		}
	}
	if info, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil && os.Geteuid() != 0 {
		if owner := info.Sys().(*syscall.Stat_t); int(owner.Uid) != os.Geteuid() {
			return fmt.Errorf("%s: it belongs to user %d: run proton attach as that user, or as root", what, owner.Uid)
		}
	}
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope") //nolint:errcheck // empty
	switch strings.TrimSpace(string(scope)) {
	case "1", "2":
		return fmt.Errorf("%s: this system lets only root attach (kernel.yama.ptrace_scope): run sudo proton attach, or sudo sysctl kernel.yama.ptrace_scope=0", what)
	case "3":
		return fmt.Errorf("%s: this system lets no user attach (kernel.yama.ptrace_scope is 3) until it is started again", what)
	}
	return fmt.Errorf("%s: ptrace is not permitted: in a container, start it with the capability SYS_PTRACE (docker run --cap-add SYS_PTRACE)", what)
}
