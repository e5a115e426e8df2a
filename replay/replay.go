// Package replay turns a capture into a program to run: proton-replay, which plays it through the real
// profiler on a fake driver and a fake library of the vendor's. No GPU and no Python is needed.
//
// Prepare gets the path of a capture and the places of the parts, and returns a command with its environment. The capture, which is
// usually compressed, is unpacked into a temporary file until the command has ended.
package replay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/version"
)

// Parts are the files of an installation that a replay needs.
type Parts struct {
	Host    string // proton-replay
	Library string // libproton.so
	Stub    string // folder of the fake drivers and libraries
}

// Replay is a capture ready to be played. Close it when the command has ended.
type Replay struct {
	Path    string   // what to execute
	Args    []string // with argv[0]
	Env     []string // to be added to the environment, after what is there
	Name    string   // what a profile of it is named after
	Machine Machine
	Sampled bool   // the capture has samples of instructions
	Counted bool   // it has launches that were measured with hardware counters
	ByLine  bool   // they were counted by line
	Set     string // the set= of -m counters that shows them all, "" if the capture does not say
	Newer   string // what to say about a capture of a newer version, else ""

	folder string
	stub   *stub
}

// Prepare checks and unpacks a capture.
func Prepare(path string, parts Parts) (*Replay, error) {
	if parts.Host == "" || parts.Stub == "" || parts.Library == "" {
		return nil, errors.New("find the parts of the replay: proton-replay, libproton.so and the stub folder are not next to the proton command: " + runinfo.Install)
	}
	c, err := Open(path)
	if err != nil {
		return nil, err
	}
	r := &Replay{Path: parts.Host, Machine: c.Machine, Name: nameOf(path), Sampled: c.has(Samples), Counted: c.has(Counters) || c.has(Lines), ByLine: c.has(Lines), Set: c.measuredSet(), Newer: version.Newer(c.Writer)}
	if r.stub, err = stubOf(c.Machine.Backend); err != nil {
		return nil, fmt.Errorf("replay %s: %w", path, err)
	}
	if r.folder, err = os.MkdirTemp("", "proton-replay-"); err != nil {
		return nil, fmt.Errorf("unpack capture: %w", err)
	}
	plain := filepath.Join(r.folder, r.Name)
	if err := unpack(path, plain); err != nil {
		r.Close()
		return nil, fmt.Errorf("unpack capture %s: %w", path, err)
	}
	r.Args = []string{parts.Host, plain}
	r.Env = []string{
		"PROTON_LIB=" + parts.Library,
		"PROTON_STUB_CAPTURE=" + plain,
		"PROTON_RECORD=", // a replay of a replay shows nothing new
	}
	env, err := r.stub.environment(r.Machine, parts.Stub, r.folder)
	if err != nil {
		r.Close()
		return nil, err
	}
	r.Env = append(r.Env, env...)
	return r, nil
}

func (c *Capture) has(t Type) bool {
	return slices.ContainsFunc(c.Events, func(e Event) bool { return e.Type == t })
}

// nameOf is the file's name without its folder and suffixes.
func nameOf(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	if name == "" {
		return "capture"
	}
	return name
}

func unpack(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	plain, err := Unpack(in)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, plain)
	if errors.Is(err, io.ErrUnexpectedEOF) { // cut off: what there is can be played
		err = nil
	}
	if e := out.Close(); err == nil {
		err = e
	}
	return err
}

// Describe says in one line what is being replayed.
func (r *Replay) Describe() string {
	gpu := "a GPU"
	if len(r.Machine.Devices) > 0 && r.Machine.Devices[0].Name != "" {
		gpu = r.Machine.Devices[0].Name
	}
	if n := len(r.Machine.Devices); n > 1 {
		gpu = fmt.Sprintf("%d × %s", n, gpu)
	}
	versions, day := r.stub.versions(r.Machine), r.Machine.Recorded.Format("2006-01-02")
	if r.Machine.Synthetic {
		return fmt.Sprintf("replaying a synthetic recording of %s (%s): a fake driver called itself %s, and no GPU was measured", day, versions, gpu)
	}
	return fmt.Sprintf("replaying what %s did on %s (%s); no GPU is used", gpu, day, versions)
}

// Close removes the unpacked capture.
func (r *Replay) Close() error { return os.RemoveAll(r.folder) }
