// Package tritonparse reads TritonParse traces: what a program compiled with Triton, with every intermediate representation, and
// what it launched, with the arguments. GoProton and Meta's tritonparse write such traces, a file for each process. They are read
// raw, or as package parse and tritonparse write them after parsing.
//
//   - Open indexes a trace, a file or a folder. Trace.Compilations has the kernels, Trace.EachLaunch and Trace.EachBrief hand
//     over the launches, Trace.Kinds groups them by grid and arguments, Trace.LaunchAt reads one.
//   - Compilation has the texts of a kernel, Compilation.Maps the lines of each text that came from a line of Python (package
//     sourcemap), Compilation.Work the bytes and operations of a launch.
//   - Scan hands over every record as text, with its Header. ReadInfo counts.
//   - Filter and Names choose launches and kernels as the flags of proton trace do. LaunchKind is the key by which profiles of
//     GoProton know a launch.
//
// A record that is damaged is skipped and counted, see Trace.Damages. Files may be packed by gzip or zstd, whatever their names.
// Memory does not grow with the number of launches. Records come from many versions of several writers: what a record does not
// say, or says in another way, is a zero value. The API of this package is promised, see CONTRIBUTING.md.
package tritonparse

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Prefix begins the name of every raw trace.
const Prefix = "dedicated_log_triton_trace_"

// FileName is what the name of a raw trace says. Any of the parts may be missing, since older writers write fewer of them.
type FileName struct {
	Rank, PID       int // 0 without HasRank, HasPID
	HasRank, HasPID bool
	Host            string
}

// The parts are peeled off from the right, so that a user name such as a_pid_12_ is not taken for one.
var (
	hostPart = regexp.MustCompile(`(?s)^(.*)_host_([a-zA-Z0-9-]+)_$`)
	pidPart  = regexp.MustCompile(`(?s)^(.*)_pid_([0-9]+)_$`)
	rankPart = regexp.MustCompile(`(?s)^(.*)_rank_([0-9]+)_$`)
	noRank   = regexp.MustCompile(`(?s)^(.*)_rank_none_$`)
)

// IsRaw says whether a file of this name is a raw trace. The prefix need not begin the name.
func IsRaw(name string) bool {
	name = filepath.Base(name)
	_, trace := ndjson.TrimExtension(name)
	return trace && strings.Contains(name, Prefix) && !strings.Contains(name, "_mapped.ndjson")
}

// ParseName reads the name of a file.
func ParseName(path string) FileName {
	var f FileName
	name, _ := ndjson.TrimExtension(filepath.Base(path))
	if m := hostPart.FindStringSubmatch(name); m != nil {
		f.Host, name = m[2], m[1]+"_"
	}
	if m := pidPart.FindStringSubmatch(name); m != nil {
		if n, err := strconv.Atoi(m[2]); err == nil {
			f.PID, f.HasPID = n, true
		}
		name = m[1] + "_"
	}
	if noRank.MatchString(name) {
		return f
	}
	if m := rankPart.FindStringSubmatch(name); m != nil {
		if n, err := strconv.Atoi(m[2]); err == nil {
			f.Rank, f.HasRank = n, true
		}
	}
	return f
}

// Bucket is the files of one rank, or without a rank, in the order in which they are read.
type Bucket struct {
	HasRank bool
	Rank    int
	Files   []string
}

// Key names the bucket in log_file_list.json.
func (b Bucket) Key() string {
	if b.HasRank {
		return fmt.Sprintf("rank_%d", b.Rank)
	}
	return "rank_none"
}

// Folder is where the bucket's output goes below the output folder.
func (b Bucket) Folder() string {
	if b.HasRank {
		return b.Key()
	}
	return ""
}

// Buckets sorts raw traces by rank; the bucket without a rank is the last. A process that does not know its rank yet writes into a
// file without one: with preInit that file joins the rank that the same process on the same host has later. warn is called for a
// process with two ranks.
func Buckets(files []string, preInit bool, warn func(string)) []Bucket {
	type process struct {
		host string
		pid  int
	}
	files = slices.Sorted(slices.Values(files))
	names := map[string]FileName{}
	ranks := map[process]int{}
	for _, f := range files {
		n := ParseName(f)
		names[f] = n
		if !n.HasRank || !n.HasPID {
			continue
		}
		p := process{n.Host, n.PID}
		if r, ok := ranks[p]; !ok {
			ranks[p] = n.Rank
		} else if r != n.Rank {
			warn(fmt.Sprintf("%s: process %d on host %q has rank %d by its first file; its files without a rank are added to that rank", f, n.PID, n.Host, r))
		}
	}
	buckets := map[int]*Bucket{}
	for _, f := range files {
		n := names[f]
		rank, has := n.Rank, n.HasRank
		if !has && preInit && n.HasPID {
			rank, has = ranks[process{n.Host, n.PID}]
		}
		key := math.MaxInt
		if has {
			key = rank
		}
		if buckets[key] == nil {
			buckets[key] = &Bucket{HasRank: has, Rank: rank}
		}
		buckets[key].Files = append(buckets[key].Files, f)
	}
	var all []Bucket
	for _, key := range slices.Sorted(maps.Keys(buckets)) {
		b := buckets[key]
		slices.SortStableFunc(b.Files, func(x, y string) int {
			nx, ny := names[x], names[y]
			return cmp.Or(cmp.Compare(nx.Host, ny.Host), cmp.Compare(nx.PID, ny.PID), cmp.Compare(x, y))
		})
		all = append(all, *b)
	}
	return all
}
