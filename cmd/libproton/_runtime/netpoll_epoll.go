// This file replaces runtime/netpoll_epoll.go when libproton.so is built (tools/overlay.sh).
//
// Go's runtime waits for its timers in epoll_wait, with two descriptors. It ends the process if it cannot open them, or if the
// program closes them, as daemons close all descriptors. The library must do neither, and it has no sockets to poll. So here
// timers are waited for on a futex, and no file can be polled: os.File makes blocking reads and writes.
//
// The functions below are those that runtime/netpoll.go requires of each system.
package runtime

import "internal/runtime/atomic"

// netpollWoken is 1 from netpollBreak until the waiting thread has noticed it.
var netpollWoken uint32

func netpollinit() {}

func netpollIsPollDescriptor(uintptr) bool { return false }

// netpollopen returns EPERM, as epoll_ctl does for regular files: package os then leaves the file in blocking mode.
func netpollopen(uintptr, *pollDesc) uintptr { return 1 }

func netpollclose(uintptr) uintptr { return 0 }

func netpollarm(*pollDesc, int) { throw("runtime: unused") }

// netpollBreak ends the wait of netpoll, or the next one.
func netpollBreak() {
	if atomic.Cas(&netpollWoken, 0, 1) {
		futexwakeup(&netpollWoken, 1)
	}
}

// netpoll waits for the delay in nanoseconds (without limit if it is negative) or until netpollBreak. It may return early: the
// scheduler checks its timers and calls it again. It never makes a goroutine runnable.
func netpoll(delay int64) (gList, int32) {
	if delay != 0 {
		futexsleep(&netpollWoken, 0, delay)
		atomic.Store(&netpollWoken, 0)
	}
	return gList{}, 0
}
