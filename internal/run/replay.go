package run

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// isReplay says whether the target is a capture and not a program.
func (o Options) isReplay() bool { return o.Backend == "replay" }

// resolveReplay returns the command that plays a capture through the profiler. The capture is unpacked into
// the run's own folder, because its readers map it.
func resolveReplay(target []string, layout Layout, status string) (Command, error) {
	switch {
	case layout.Replay == "" || layout.Stub == "":
		return Command{}, errors.New("find proton-replay and its stub folder: they are not beside the proton command: run make build")
	case len(target) != 1:
		return Command{}, fmt.Errorf("replay %s: one capture at a time: proton run --backend replay CAPTURE", strings.Join(target, " "))
	}
	plain := filepath.Join(status, "capture")
	if err := unpack(target[0], plain); err != nil {
		return Command{}, fmt.Errorf("read the capture: %w; captures are made with PROTON_RECORD=file", err)
	}
	name, _, _ := strings.Cut(filepath.Base(target[0]), ".")
	return Command{Path: layout.Replay, Args: []string{layout.Replay, plain}, Name: name}, nil
}

// unpack copies a file, decompressing it if it is compressed.
func unpack(from, to string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	var in io.Reader = bufio.NewReader(file)
	if magic, _ := in.(*bufio.Reader).Peek(2); string(magic) == "\x1f\x8b" {
		if in, err = gzip.NewReader(in); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return fmt.Errorf("%s: %w", from, err)
	}
	return out.Close()
}

// replayEnvironment makes the profiler find the recorded GPU instead of this machine's.
func replayEnvironment(base []string, layout Layout, status string) []string {
	vars := variables{list: base}
	vars.set("PROTON_CUPTI_PATH", filepath.Join(layout.Stub, "libcupti.so"))
	vars.set("PROTON_STUB_CAPTURE", filepath.Join(status, "capture"))
	return vars.list
}
