// Package ctl connects "proton ctl" with the processes that "proton run --ctl" profiles: one socket for each process, in a folder
// that only its user can enter. A client sends a command in one line, and gets an answer in one line of JSON. It uses no cgo.
package ctl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/procstat"
)

// Commands are what a client can send.
var Commands = []string{"start", "stop", "status"}

// Kernels asks for the status with the kernels so far; it is what "proton top" sends.
const Kernels = "kernels"

// Limits on both sides.
const (
	mostCommand = 64       // bytes of a command with its line feed
	mostAnswer  = 64 << 10 // bytes of an answer
	// commandPatience is how long the process waits for a client's command. Other clients wait that long.
	commandPatience = time.Second
)

// Answer is what a process says about its recording.
type Answer struct {
	PID      int     `json:"pid"`
	Command  string  `json:"command"`
	State    string  `json:"state"` // recording, paused by a user, or waiting for other conditions
	Windows  int     `json:"windows"`
	Seconds  float64 `json:"seconds"` // that they were open
	Steps    int     `json:"steps"`
	Kernels  int64   `json:"kernels"`
	Profile  string  `json:"profile,omitempty"`  // path without suffix
	Budget   float64 `json:"budget,omitempty"`   // share of the time that the profiler may take
	Overhead float64 `json:"overhead,omitempty"` // and took, as measured in the process
	Error    string  `json:"error,omitempty"`

	Names []Kernel `json:"names,omitempty"` // those with most time, of an answer to Kernels
	Nanos int64    `json:"gpu_ns,omitempty"`
	At    int64    `json:"at_ns,omitempty"` // when it was, since 1970
	GPU   string   `json:"gpu,omitempty"`
	Lost  int64    `json:"lost,omitempty"`
}

// Kernel is what ran of one kernel so far.
type Kernel struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
	Nanos int64  `json:"ns"`
}

// The states.
const (
	Recording = "recording"
	Paused    = "paused"
	Waiting   = "waiting"
)

// folders are where sockets may be, the one for new ones first. A client looks in all, because its environment may differ.
func folders(env func(string) string) (list []string) {
	if runtime := env("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) && len(runtime) <= longestRuntime {
		if info, err := os.Stat(runtime); err == nil && info.IsDir() {
			list = append(list, filepath.Join(runtime, "goproton"))
		}
	}
	return append(list, "/tmp/goproton-"+strconv.Itoa(os.Geteuid()))
}

// longestRuntime is how long XDG_RUNTIME_DIR may be: the kernel takes 107 bytes for the path of a socket.
const longestRuntime = 80

func socketIn(folder string, pid int) string {
	return filepath.Join(folder, strconv.Itoa(pid)+".sock")
}

// verified checks that only this user can enter a folder.
func verified(folder string) error {
	info, err := os.Lstat(folder)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder: remove it", folder)
	case owner(info) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d: set XDG_RUNTIME_DIR to a folder of your own", folder, owner(info))
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is open to other users (mode %#o): run chmod 700 %s", folder, info.Mode().Perm(), folder)
	}
	return nil
}

// Folder is a folder for sockets that only this user can enter. It is made if it is not there.
func Folder(env func(string) string) (folder string, err error) {
	for _, folder := range folders(env) {
		failed := made(folder)
		if failed == nil {
			return folder, nil
		}
		err = errors.Join(err, failed)
	}
	return "", err
}

func made(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return verified(folder)
}

// Entry is a process that has a socket.
type Entry struct {
	PID  int
	path string
}

// List returns the processes of this user that have a socket, and removes the sockets of those that have ended.
func List(env func(string) string) (list []Entry, err error) {
	for _, folder := range folders(env) {
		if wrong := verified(folder); wrong != nil {
			if !errors.Is(wrong, os.ErrNotExist) {
				err = errors.Join(err, wrong)
			}
			continue
		}
		files, wrong := os.ReadDir(folder)
		err = errors.Join(err, wrong)
		for _, file := range files {
			text, isSocket := strings.CutSuffix(file.Name(), ".sock")
			pid, notNumber := strconv.Atoi(text)
			if !isSocket || notNumber != nil {
				continue
			}
			e := Entry{pid, filepath.Join(folder, file.Name())}
			if !lives(pid) {
				os.Remove(e.path)
				continue
			}
			list = append(list, e)
		}
	}
	return list, err
}

// Of returns the processes of a list that a pid means: that process or, if it does not listen, those below it.
func Of(list []Entry, pid int) (of []Entry, err error) {
	for _, e := range list {
		if e.PID == pid {
			return []Entry{e}, nil
		}
	}
	for _, e := range list {
		if procstat.Below(e.PID, pid) {
			of = append(of, e)
		}
	}
	if len(of) > 0 {
		return of, nil
	}
	if !lives(pid) {
		return nil, fmt.Errorf("there is no process %d; proton ctl lists the processes that can be controlled", pid)
	}
	if info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err == nil && owner(info) != os.Geteuid() {
		return nil, fmt.Errorf("process %d belongs to user %d, and only that user can control it: run proton ctl as that user", pid, owner(info))
	}
	return nil, fmt.Errorf("process %d cannot be controlled: start the program with proton run --ctl, or with proton run --paused", pid)
}
