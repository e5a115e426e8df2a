// Package record writes TritonParse traces of a running program.
//
// The launching thread leaves a compact record of each launch in a ring of memory that is also a file: what
// is in it survives the death of the process. Everything that launches share (metadata, call paths, texts) is defined
// once, in a second file, and named by number. A goroutine turns records into TritonParse's JSON, compresses and writes
// them. Where a process died, Recover does the same with what it left.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/tritonparse"
)

// Options is what `goproton.trace.init` was asked for, as far as it concerns the writer.
type Options struct {
	Folder        string            `json:"folder"`
	Compression   string            `json:"compression"`   // zstd, gzip or none
	Disassemblers map[string]string `json:"disassemblers"` // paths by suffix of the binaries; without one there is no text of machine code
	Status        string            `json:"status"`        // folder in which `proton run` looks for what was traced; "" = it does not
}

// header begins the definitions of a process: what another process needs to go on where it died.
type header struct {
	Version int     `json:"version"`
	PID     int     `json:"pid"`
	Started uint64  `json:"started"` // when the process began, in the kernel's ticks
	Host    string  `json:"host"`
	User    string  `json:"user"`
	Options Options `json:"options"`
}

const formatVersion = 1

// noRank is the rank of a process without a process group, or whose group is not initialised yet.
const noRank = -1

// outputName is the name of a trace file, as TritonParse has it.
func (h header) outputName(rank int64) string {
	token := "none"
	if rank != noRank {
		token = strconv.FormatInt(rank, 10)
	}
	suffix := ".bin.ndjson"
	if h.Options.Compression == "none" {
		suffix = ".ndjson"
	}
	return fmt.Sprintf(tritonparse.Prefix+"%s_rank_%s_pid_%d_host_%s_%s", h.User, token, h.PID, h.Host, suffix)
}

// ringPrefix begins the names of the two files of a process that is tracing, or that died while it was.
const ringPrefix = ".goproton_trace_"

func (h header) ringFile(what string) string {
	return filepath.Join(h.Options.Folder, fmt.Sprintf("%spid_%d_host_%s_.%s", ringPrefix, h.PID, h.Host, what))
}

func newHeader(o Options) header {
	h := header{Version: formatVersion, PID: os.Getpid(), Started: started(os.Getpid()), Host: hostLabel(), User: os.Getenv("USER"), Options: o}
	if h.User == "" {
		h.User = "unknown"
	}
	h.User = strings.ReplaceAll(h.User, "/", "-") // it is part of a file's name
	return h
}

var notInHost = regexp.MustCompile(`[^a-zA-Z0-9-]`)

func hostLabel() string {
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(name, ".")
	if name = notInHost.ReplaceAllString(name, "-"); name == "" {
		return "unknown"
	}
	return name
}

// Counts is what was traced.
type Counts struct {
	Compilations int64 `json:"compilations"`
	Launches     int64 `json:"launches"`
	Autotunes    int64 `json:"autotunes"`
	Lost         int64 `json:"lost"` // launches that could not be written
}

func (c *Counts) add(o Counts) {
	c.Compilations += o.Compilations
	c.Launches += o.Launches
	c.Autotunes += o.Autotunes
	c.Lost += o.Lost
}

// Empty says that there was nothing to trace.
func (c Counts) Empty() bool { return c == Counts{} }

// Summary is what the processes of a run traced, from the files that they leave for `proton run`.
type Summary struct {
	Counts
	Processes int
	Problems  []string
	Files     []string // in the trace folder
}

// status is one process's part of a Summary.
type status struct {
	Counts
	Problems []string `json:"problems"`
	Files    []string `json:"files"`
}

// write replaces the earlier status of the process and keeps its problems and files.
func (s status) write(folder string, pid int) {
	if folder == "" {
		return
	}
	path := filepath.Join(folder, fmt.Sprintf("%d.trace", pid))
	var before status
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &before) == nil {
		s.Problems, s.Files = withAll(before.Problems, s.Problems), withAll(before.Files, s.Files)
	}
	text, _ := json.Marshal(s)
	if os.WriteFile(path+".part", text, 0o666) == nil {
		_ = os.Rename(path+".part", path) // an error is not reported: the trace itself is written
	}
}

// ReadSummary adds up what processes left in the status folder.
func ReadSummary(folder string) (Summary, error) {
	names, err := fs.Glob(os.DirFS(folder), "[0-9]*.trace")
	if err != nil {
		return Summary{}, fmt.Errorf("list what was traced: %w", err)
	}
	var sum Summary
	pids := map[string]bool{} // a process that executed another program has two files
	for _, name := range names {
		var one status
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = json.Unmarshal(text, &one)
		}
		if err != nil {
			return sum, fmt.Errorf("read what a process traced: %w", err)
		}
		pid, _, _ := strings.Cut(name, ".")
		pids[pid] = true
		sum.Processes = len(pids)
		sum.add(one.Counts)
		sum.Problems = withAll(sum.Problems, one.Problems) // ranks of one job share theirs
		sum.Files = withAll(sum.Files, one.Files)
	}
	return sum, nil
}

// withAll adds what is not among them yet.
func withAll(texts, more []string) []string {
	for _, text := range more {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// errDamaged is anything in ring files that a crash cannot have made.
var errDamaged = errors.New("the ring files are damaged")
