package ctl

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// patience is how long a client waits for an answer. A process that writes its profile or waits for its GPU answers later.
var patience = 10 * time.Second

// Send sends a command to a process and returns its answer.
func (e Entry) Send(command string) (a Answer, err error) {
	conn, err := net.DialTimeout("unix", e.path, patience)
	for end := time.Now().Add(patience); errors.Is(err, syscall.EAGAIN) && time.Now().Before(end); { // others wait before this client
		time.Sleep(10 * time.Millisecond)
		conn, err = net.DialTimeout("unix", e.path, patience)
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist) {
		return a, fmt.Errorf("process %d does not listen any more: its profile has ended", e.PID)
	}
	if err != nil {
		return a, fmt.Errorf("connect to process %d: %w", e.PID, err)
	}
	defer conn.Close()
	pid, uid, err := peer(conn.(*net.UnixConn))
	if err != nil {
		return a, fmt.Errorf("ask who listens at %s: %w", e.path, err)
	}
	if uid != os.Geteuid() || pid != e.PID {
		return a, fmt.Errorf("the socket %s is that of process %d of user %d, not of process %d: remove it", e.path, pid, uid, e.PID)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return a, err
	}
	if _, err := io.WriteString(conn, command+"\n"); err != nil {
		return a, fmt.Errorf("send %q to process %d: %w", command, e.PID, err)
	}
	line, err := bufio.NewReader(io.LimitReader(conn, mostAnswer)).ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("process %d did not answer within %v: it may be ending, or waiting for its GPU: try again", e.PID, patience)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("read the answer of process %d: %w", e.PID, err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("process %d: %s", e.PID, a.Error)
	}
	return a, nil
}
