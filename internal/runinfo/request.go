package runinfo

import (
	"io/fs"
	"os"
	"path/filepath"
)

// requests is the file by which `proton run` asks its processes for a checkpoint. It has a byte for each request.
const requests = "checkpoint-requests"

// RequestCheckpoint asks the processes of a run to write their profiles as they are now. A process answers with Status.Answered, at
// least the number that is returned.
func RequestCheckpoint(folder string) (number int64, err error) {
	file, err := os.OpenFile(filepath.Join(folder, requests), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if _, err := file.Write([]byte{'.'}); err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// CheckpointRequests is how often `proton run` has asked for a checkpoint.
func CheckpointRequests(folder string) int64 {
	info, err := os.Lstat(filepath.Join(folder, requests))
	if err != nil || info.Mode()&fs.ModeType != 0 {
		return 0
	}
	return info.Size()
}
