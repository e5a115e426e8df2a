// This file takes the place of runtime/netpoll_epoll.go when libproton.so is built (tools/overlay.sh).
//
// Go's runtime waits for its timers in epoll_wait. Its two descriptors for that belong to the process, and a program
// that closes descriptors it did not open, as every daemonizer does, takes them away; the runtime then ends the
// process. It does the same where no descriptor is left to open. A library in a process of another program cannot afford
// either, and it has no sockets to poll: here, timers are waited for on a futex, and no file can be polled.
// os.File then does plain blocking reads and writes.
//
// The functions below are the seven that runtime/netpoll.go asks of each system.
package runtime

import "internal/runtime/atomic"

// netpollWoken is 1 from a netpollBreak until the thread that waits has seen it.
var netpollWoken uint32

func netpollinit() {}

func netpollIsPollDescriptor(uintptr) bool { return false }

// netpollopen refuses with EPERM, as epoll_ctl does for regular files: package os then leaves the file in blocking mode.
func netpollopen(uintptr, *pollDesc) uintptr { return 1 }

func netpollclose(uintptr) uintptr { return 0 }

func netpollarm(*pollDesc, int) { throw("runtime: unused") }

// netpollBreak ends the wait of netpoll, or the next one.
func netpollBreak() {
	if atomic.Cas(&netpollWoken, 0, 1) {
		futexwakeup(&netpollWoken, 1)
	}
}

// netpoll waits for the delay (in nanoseconds, below 0 without end) or until netpollBreak. It may return early: the
// scheduler looks at its timers again and comes back. There is never a goroutine to make runnable.
func netpoll(delay int64) (gList, int32) {
	if delay != 0 {
		futexsleep(&netpollWoken, 0, delay)
		atomic.Store(&netpollWoken, 0)
	}
	return gList{}, 0
}
