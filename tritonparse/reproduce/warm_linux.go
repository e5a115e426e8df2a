package reproduce

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// fork has the process fork one that runs a command of the same Python. The connection lasts as long as the forked one, which ends if this one does.
func (w *Warm) fork(in Interpreter, cmd *exec.Cmd) (kill, wait func(), err error) {
	c, err := w.connect(in)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	here, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	request, err := json.Marshal(map[string]any{"argv": cmd.Args[1:], "env": cmd.Environ(), "folder": here})
	if err != nil {
		return nil, nil, err
	}
	var descriptors []int
	for _, f := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		descriptors = append(descriptors, int(f.(*os.File).Fd()))
	}
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, _, err := c.WriteMsgUnix(binary.BigEndian.AppendUint64(nil, uint64(len(request))), syscall.UnixRights(descriptors...), nil); err != nil {
		return nil, nil, err
	}
	if _, err := c.Write(request); err != nil {
		return nil, nil, err
	}
	var number [8]byte
	if _, err := c.Read(number[:]); err != nil {
		return nil, nil, fmt.Errorf("fork %s: %w", in.Python, err)
	}
	pid := int(binary.BigEndian.Uint64(number[:]))
	c.SetDeadline(time.Time{})
	return func() { syscall.Kill(pid, syscall.SIGKILL) }, func() {
		c.SetDeadline(time.Now().Add(time.Second))
		c.Read(number[:]) // nothing: it has ended
		c.Close()
	}, nil
}

// connect connects to the process, and starts it if there is none.
func (w *Warm) connect(in Interpreter) (*net.UnixConn, error) {
	dial := func() (*net.UnixConn, error) {
		return net.DialUnix("unix", nil, &net.UnixAddr{Name: w.Socket, Net: "unix"})
	}
	if c, err := dial(); err == nil {
		return c, nil
	}
	cmd := exec.Command(in.Python, "-c", embedded("python/warm.py"), w.Socket, fmt.Sprint(w.Idle.Seconds()))
	cmd.Env, cmd.Dir, cmd.SysProcAttr = in.Env, filepath.Dir(w.Socket), &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range 12_000 {
		select {
		case <-ended:
			return nil, errors.New(strings.Join(cmd.Args[:1], "") + " cannot import torch and Triton")
		case <-time.After(10 * time.Millisecond):
		}
		if c, err := dial(); err == nil {
			return c, nil
		}
	}
	return nil, errors.New("torch and Triton were not imported in two minutes")
}
