package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hurry begins the name of a file by which a process that waits for its windows, and has not the lock, asks the sender that has it to
// send at once what waits. The file is there while the process waits. It is empty: the holder needs no more than to see it.
const hurry = "hurry-"

func hurryPath(folder string) string {
	return filepath.Join(folder, fmt.Sprintf("%s%d", hurry, os.Getpid()))
}

// AskToHurry leaves the file of this process. One that is there already stays.
func AskToHurry(folder string) error {
	f, err := os.OpenFile(hurryPath(folder), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("ask the sender of a spool to hurry: %w", err)
	}
	return f.Close()
}

// AskNoLonger removes the file of this process.
func AskNoLonger(folder string) { _ = os.Remove(hurryPath(folder)) }

// Hurries returns the files of processes that ask. That of a process that was killed stays.
func Hurries(folder string) (paths []string) {
	files, _ := os.ReadDir(folder) //nolint:errcheck // a folder that is gone has none
	for _, f := range files {
		if strings.HasPrefix(f.Name(), hurry) {
			paths = append(paths, filepath.Join(folder, f.Name()))
		}
	}
	return paths
}
