package control

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/ownfile"
)

// claimName makes sure that a path belongs to one program of a run: the first one that asks gets it as it is, a later one
// gets ".pid<P>" put before the suffix, and the same one always gets the same answer. The programs of a run agree
// through files in statusDir, made so that only one of them can succeed. image is a text that no other program has: a
// process that executes another program is a new one, with the same pid, and a second one in a process has
// ".pid<P>-2".
//
// Where the programs cannot agree, because statusDir is gone, as it is for a daemon that outlives its run, or cannot be
// written, the path with the pid is taken. An empty statusDir means that there are no other processes to agree with; the path is
// returned as it is. It also is for what is not a file: "-" and "" mean standard output, and a device such as /dev/null
// can be shared.
//
// holder is the process that has the path as it is, 0 if that is this one or is not known.
func claimName(statusDir, path string, pid int, image string) (claimed string, holder int) {
	if statusDir == "" || path == "" || path == "-" || isDevice(path) {
		return path, 0
	}
	own := withPid(path, strconv.Itoa(pid))
	candidate := path
	for n := 1; ; n++ {
		first, err := claimOne(statusDir, candidate, pid, image)
		switch {
		case err != nil:
			return own, 0
		case first == 0:
			return candidate, holder
		case n == 1 && first != pid:
			holder = first
		}
		candidate = anotherName(path, pid, n)
	}
}

// anotherName returns the n-th path next to one that belongs to another program: with the process id in it, and n if that is not 1.
func anotherName(path string, pid, n int) string {
	if n == 1 {
		return withPid(path, strconv.Itoa(pid))
	}
	return withPid(path, fmt.Sprintf("%d-%d", pid, n))
}

// nameHolder is the process of a run that a path belongs to, 0 if it belongs to none, and since when.
func nameHolder(statusDir, path string) (pid int, since time.Time) {
	claim, err := claimOf(statusDir, path)
	if statusDir == "" || err != nil {
		return 0, since
	}
	text, err := ownfile.ReadFile(claim)
	if err != nil {
		return 0, since
	}
	if info, err := os.Stat(claim); err == nil {
		since = info.ModTime()
	}
	pid, _ = holderOf(text) //nolint:errcheck // 0
	return pid, since
}

func claimOf(statusDir, path string) (string, error) {
	absolute, err := filepath.Abs(path)
	sum := sha256.Sum256([]byte(absolute))
	return filepath.Join(statusDir, "claim-"+hex.EncodeToString(sum[:8])), err
}

func holderOf(claim []byte) (pid int, err error) {
	first, _, _ := strings.Cut(string(claim), " ")
	return strconv.Atoi(first)
}

// claimOne returns 0 if the path belongs to a program, after trying to make it so, else the process that it belongs to. The
// claim is written to a file of its own first and then linked: a claim that can be seen is complete, whatever happens to its writer.
func claimOne(statusDir, path string, pid int, image string) (holder int, err error) {
	claim, err := claimOf(statusDir, path)
	if err != nil {
		return 0, err
	}
	own := fmt.Sprintf("%s.%d", claim, pid)
	identity := fmt.Sprintf("%d %s", pid, image)
	defer os.Remove(own)
	if err := ownfile.WriteFile(own, []byte(identity), 0o600); err != nil {
		return 0, err
	}
	err = os.Link(own, claim)
	if err == nil {
		return 0, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return 0, err
	}
	text, err := ownfile.ReadFile(claim)
	if err != nil || string(text) == identity {
		return 0, err
	}
	return holderOf(text)
}

// withPid puts the process id before the last suffix: out.hatchet is turned into out.pid7.hatchet.
func withPid(path, pid string) string {
	suffix := filepath.Ext(path)
	if suffix == filepath.Base(path) { // a dot file
		suffix = ""
	}
	return fmt.Sprintf("%s.pid%s%s", strings.TrimSuffix(path, suffix), pid, suffix)
}

func isDevice(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeDevice != 0
}
