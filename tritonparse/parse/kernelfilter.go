package parse

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// selection is what a filter by name keeps: kernels, and all kernels of the autotuner's sessions that they are in, so that sessions
// stay whole.
type selection struct {
	hashes, sessions map[string]bool
	names            map[string]bool // of all kernels
	unnamed          int             // records without a name
}

// selected is what the selection reads of a record.
type selected struct {
	kind          string
	hash, session string
	names         []string
}

// selectKernels reads all files of a rank once.
func selectKernels(files []string, o *Options) (*selection, error) {
	s := &selection{hashes: map[string]bool{}, sessions: map[string]bool{}, names: map[string]bool{}}
	sessionsOf, hashesOf := map[string][]string{}, map[string][]string{}
	var stacks tunedStacks
	read := func(_ ndjson.Record, members []jsontext.Member) selected {
		return readSelected(members, &stacks, o.quirks)
	}
	take := func(r *selected) error {
		if r.kind == "" {
			return nil
		}
		matches := false
		for _, n := range r.names {
			s.names[n] = true
			matches = matches || o.Kernels.Match(n)
		}
		if len(r.names) == 0 {
			s.unnamed++
		}
		if r.hash != "" && r.session != "" {
			sessionsOf[r.hash] = addNew(sessionsOf[r.hash], r.session)
			hashesOf[r.session] = addNew(hashesOf[r.session], r.hash)
		}
		if matches && r.hash != "" {
			s.hashes[r.hash] = true
		}
		if matches && r.session != "" {
			s.sessions[r.session] = true
		}
		return nil
	}
	for _, f := range files {
		if _, _, err := ndjson.ReadFile(f, ndjson.WithMembers(read), take); err != nil {
			return nil, err
		}
	}
	s.close(sessionsOf, hashesOf)
	return s, nil
}

// close adds the sessions of selected kernels, and the kernels of selected sessions, until nothing is added.
func (s *selection) close(sessionsOf, hashesOf map[string][]string) {
	for before := -1; before != len(s.hashes)+len(s.sessions); {
		before = len(s.hashes) + len(s.sessions)
		for hash := range s.hashes {
			for _, session := range sessionsOf[hash] {
				s.sessions[session] = true
			}
		}
		for session := range s.sessions {
			for _, hash := range hashesOf[session] {
				s.hashes[hash] = true
			}
		}
	}
}

func readSelected(members []jsontext.Member, stacks *tunedStacks, q quirks.Set) selected {
	h := ndjson.ReadHeader(members)
	r := selected{kind: h.Type, hash: h.Hash}
	names := []string{h.Name}
	switch h.Type {
	case "launch": // which may be of a kernel that was compiled under another name
		names = append(names, jsontext.Text(jsontext.Get(ndjson.Get(members, "compilation_metadata"), "name")))
	case "autotune":
		r.hash = "" // is that of the configuration, if there is one
	case "compilation":
	default:
		return selected{}
	}
	for _, n := range names {
		if n != "" {
			r.names = addNew(r.names, n)
		}
	}
	if stack := ndjson.Get(members, "stack"); stack != nil {
		r.session = stacks.session(stack, q)
	}
	return r
}

// tunedStacks are the sessions of stacks that were read before.
type tunedStacks struct {
	known sync.Map // by their hashes
	count atomic.Int32
}

func (s *tunedStacks) session(stack []byte, q quirks.Set) string {
	const most = 1 << 16
	sum := sha256.Sum256(stack)
	known, ok := s.known.Load(sum)
	if !ok {
		known = launchtext.ReadTuning(stack).SeenBy(q).Session
		if s.count.Add(1) > most {
			s.known.Clear()
			s.count.Store(1)
		}
		s.known.Store(sum, known)
	}
	return known.(string)
}

// keeps says whether a record is one of a kernel that was asked for; nil keeps all.
func (s *selection) keeps(r *parsed, q quirks.Set) bool {
	switch {
	case s == nil:
		return true
	case r.compilation != nil:
		return s.hashes[r.compilation.hash]
	case r.launch.Template != nil && r.launch.Hash != "":
		return s.hashes[r.launch.Hash]
	case r.launch.Template != nil:
		t := r.launch.Tuning()
		return t != nil && s.sessions[t.SeenBy(q).Session]
	case r.tuned != nil:
		return s.sessions[r.tuned.tuned.Session]
	}
	return true
}

// NoKernelError says that a filter by name left nothing.
type NoKernelError struct {
	Patterns string
	Names    []string // of all kernels, sorted
	Unnamed  int      // records that name none
}

func (e *NoKernelError) Error() string {
	const most = 20
	names := strings.Join(e.Names[:min(len(e.Names), most)], ", ")
	if names == "" {
		names = "none"
	}
	if n := len(e.Names) - most; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	text := fmt.Sprintf("no kernel is called %s; there are %s", e.Patterns, names)
	if e.Unnamed > 0 {
		text += fmt.Sprintf("; %d records name no kernel", e.Unnamed)
	}
	return text
}

func (e *NoKernelError) add(s *selection) {
	for name := range s.names {
		e.Names = addNew(e.Names, name)
	}
	slices.Sort(e.Names)
	e.Unnamed += s.unnamed
}
