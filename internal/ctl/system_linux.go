package ctl

import (
	"io/fs"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// lives reports whether there is such a process, of any user.
func lives(pid int) bool { return unix.Kill(pid, 0) != unix.ESRCH }

// peer is who listens at the other end.
func peer(conn *net.UnixConn) (pid, uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var who *unix.Ucred
	failed := raw.Control(func(fd uintptr) { who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if failed != nil || err != nil {
		return 0, 0, err
	}
	return int(who.Pid), int(who.Uid), nil
}
