package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// examineCommand looks for another program called proton: Triton's wheel has one, and the wheel that was installed last has the name.
func (r *Report) examineCommand(m Machine) {
	if m.Executable == "" {
		return
	}
	for _, folder := range filepath.SplitList(m.Env("PATH")) {
		path := filepath.Join(folder, "proton")
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		if !isOurs(path, m.Executable) {
			r.found("command", Note, path+" is another program, such as Triton's; goproton is this one under a name of its own", "call "+m.Executable+", or put its folder first in PATH")
		}
		return
	}
}

// isOurs says whether a file is the executable, or the script of the wheel that starts it.
func isOurs(path, executable string) bool {
	a, err := os.Stat(path)
	b, err2 := os.Stat(executable)
	if err != nil || err2 != nil || os.SameFile(a, b) {
		return true // or unknown
	}
	if a.Size() > 4096 {
		return false // one of another folder, which may be another version
	}
	text, err := os.ReadFile(path)
	return err != nil || bytes.HasPrefix(text, []byte("#!/bin/sh")) && strings.Contains(string(text), `/goproton"`)
}
