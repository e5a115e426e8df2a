package tritonparse

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/goproton/goproton/tritonparse/jsontext"
)

// tuning is what a stack says about the autotuner.
type tuning struct {
	known     bool
	session   string // "" outside of the autotuner
	benchmark bool
	user      []byte // the frames before the autotuner's
}

const autotuner = "triton/runtime/autotuner.py"

// readTuning finds the autotuner in a stack. A session is a call site: the frames above the autotuner's.
func readTuning(stack []byte) tuning {
	t := tuning{known: true}
	frames := jsontext.Elements(stack)
	var user []string
	var raw [][]byte
	found := false
	for _, f := range frames {
		file, name := jsontext.Text(jsontext.Get(f, "filename")), jsontext.Text(jsontext.Get(f, "name"))
		inside := strings.Contains(file, autotuner)
		t.benchmark = t.benchmark || inside && name == "_bench"
		found = found || inside && (name == "run" || name == "_bench")
		if !found {
			user = append(user, file+":"+string(jsontext.Get(f, "line"))+":"+name)
			raw = append(raw, f)
		}
	}
	if !found || len(user) == 0 {
		return tuning{known: true, benchmark: t.benchmark}
	}
	sum := sha256.Sum256([]byte(strings.Join(user, "|")))
	t.session = hex.EncodeToString(sum[:8])
	t.user = append(t.user, '[')
	for i, f := range raw {
		if i > 0 {
			t.user = append(t.user, ',')
		}
		t.user = append(t.user, f...)
	}
	t.user = append(t.user, ']')
	return t
}

// sessions are the autotuner's, by call site.
type sessions struct {
	benchmarked map[string]bool
}

// kind is what the autotuner used a launch for; "" outside of it.
func (s *sessions) kind(l *launch) string {
	if l.stack == nil {
		return ""
	}
	t := l.stack.tuned
	switch {
	case t.benchmark:
		if s.benchmarked == nil {
			s.benchmarked = map[string]bool{}
		}
		s.benchmarked[t.session] = true
		return "benchmark"
	case t.session == "":
		return ""
	case s.benchmarked[t.session]:
		return "winner"
	}
	return "cached_winner"
}
