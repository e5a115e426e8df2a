package outname

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
)

// Claim makes sure that a path belongs to one process of a run: the first process that asks gets it as it is,
// a later one gets ".pid<P>" put before the suffix, and the same process always gets the same answer. The
// processes of a run agree through files in statusDir, made so that only one of them can succeed.
//
// Where statusDir is gone the run is over, and this process, a daemon of it, takes a name that nobody else can.
// An empty statusDir means that there is nobody to agree with; the path is returned as it is. So it is for
// what is not a file: "-" and "" mean standard output, and a device such as /dev/null can be shared.
func Claim(statusDir, path string, pid int) (string, error) {
	if statusDir == "" || path == "" || path == "-" || isDevice(path) {
		return path, nil
	}
	mine, err := claimOne(statusDir, path, pid)
	if errors.Is(err, fs.ErrNotExist) {
		return withPid(path, pid), nil
	}
	if err != nil {
		return "", fmt.Errorf("claim output file %s: %w", path, err)
	}
	if mine {
		return path, nil
	}
	return withPid(path, pid), nil
}

// claimOne says whether the path belongs to pid, after trying to make it so. The claim is written to a file
// of our own first and then linked: a claim that can be seen is complete, whatever happens to its writer.
func claimOne(statusDir, path string, pid int) (bool, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256([]byte(absolute))
	claim := filepath.Join(statusDir, "claim-"+hex.EncodeToString(sum[:8]))
	own := fmt.Sprintf("%s.%d", claim, pid)
	if err := os.WriteFile(own, []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return false, err
	}
	defer os.Remove(own)
	err = os.Link(own, claim)
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	holder, err := os.ReadFile(claim)
	return string(holder) == strconv.Itoa(pid), err
}

// withPid puts the process id before the last suffix: out.hatchet becomes out.pid7.hatchet.
func withPid(path string, pid int) string {
	suffix := filepath.Ext(path)
	if suffix == filepath.Base(path) { // a dot file
		suffix = ""
	}
	return fmt.Sprintf("%s.pid%d%s", strings.TrimSuffix(path, suffix), pid, suffix)
}

func isDevice(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeDevice != 0
}
