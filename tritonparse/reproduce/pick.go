package reproduce

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/tritonparse"
)

// Selection says which launch of a trace to take: without any member set, the first that can be reproduced.
type Selection struct {
	File   string // of the trace, for Line; "" if it has only one
	Line   int    // of the record; -1 for none
	Kernel string
	Launch int    // which of the kernel's, or of the hash's, from 0
	Hash   string // or its beginning
}

// Pick returns the selected launch, or an error that says what the trace has instead.
func Pick(t *tritonparse.Trace, s Selection) (*tritonparse.LaunchRecord, error) {
	if s.Line >= 0 {
		return t.LaunchAt(s.File, s.Line)
	}
	count, whole := 0, false
	var at, incomplete tritonparse.Place
	var names []string
	found := errors.New("found")
	err := t.EachBrief(func(l *tritonparse.Brief) error {
		if !slices.Contains(names, l.Name) {
			names = append(names, l.Name)
		}
		switch {
		case s.Kernel != "" && l.Name != s.Kernel, s.Hash != "" && !strings.HasPrefix(l.Hash, s.Hash):
			return nil
		case s.Kernel == "" && s.Hash == "" && (!l.Whole || !compiled(t, l)):
			if incomplete.File == "" || l.Whole && !whole {
				incomplete, whole = l.Place(), l.Whole
			}
			return nil
		}
		count++
		if count == s.Launch+1 {
			at = l.Place()
			return found
		}
		return nil
	})
	if err != nil && err != found {
		return nil, err
	}
	if count == 0 && incomplete.File != "" {
		at = incomplete // for the error that says what it lacks
	}
	if at.File == "" {
		return nil, s.nothing(t, count, names)
	}
	return t.LaunchAt(at.File, at.Line)
}

// compiled reports whether the trace has the compilation of a launch. Parsing puts kernels without one first.
func compiled(t *tritonparse.Trace, l *tritonparse.Brief) bool {
	c := t.Compilation(l.Hash)
	return l.Hash == "" || c != nil && !c.Inferred
}

// nothing is the error for a selection without a launch.
func (s Selection) nothing(t *tritonparse.Trace, count int, names []string) error {
	what := "kernel " + s.Kernel
	if s.Hash != "" {
		what = strings.TrimPrefix(what+" of hash "+s.Hash, "kernel  of ")
	}
	switch {
	case len(names) == 0:
		return fmt.Errorf("%s holds no launch, only compilations; record with launches: proton run --trace DIR, or TRITON_TRACE_LAUNCH=1 of tritonparse", t.Source)
	case count == 0:
		return fmt.Errorf("no launch of %s in %s; there are launches of %s", what, t.Source, strings.Join(names[:min(len(names), 8)], ", "))
	}
	return fmt.Errorf("%s has %d launches in %s, from 0 to %d: there is no launch %d", what, count, t.Source, count-1, s.Launch)
}

// PickForComparison finds a launch whose counterpart in another trace is found by MostSimilar. Unless the selection names one
// launch, it applies the same rule: it takes the last launch with the tensors of the first.
func PickForComparison(t *tritonparse.Trace, s Selection) (*tritonparse.LaunchRecord, error) {
	first, err := Pick(t, s)
	if err != nil || s.Line >= 0 || s.Launch > 0 || s.Hash != "" {
		return first, err
	}
	return MostSimilar(t, first)
}

// MostSimilar finds the launch of a trace that is most similar to one of another trace: of the same kernel, with the same
// tensors. Constants may differ, since the kernel may have been tuned again. Of several launches it takes the last, since
// autotuners try configurations first.
func MostSimilar(t *tritonparse.Trace, like *tritonparse.LaunchRecord) (*tritonparse.LaunchRecord, error) {
	want := signature(like)
	var same, last tritonparse.Place
	matches := map[string]bool{} // by kind
	err := t.EachBrief(func(l *tritonparse.Brief) error {
		if l.Name != like.Name || !l.Whole {
			return nil
		}
		last = l.Place()
		match, known := matches[l.Kind]
		if !known {
			whole, err := l.Record()
			if err != nil {
				return err
			}
			match = signature(whole) == want
			matches[l.Kind] = match
		}
		if match {
			same = last
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch {
	case same.File != "":
		return t.LaunchAt(same.File, same.Line)
	case last.File != "":
		return nil, fmt.Errorf("%s has launches of %s, but none with the arguments of the other: %s", t.Source, like.Name, want)
	}
	return nil, fmt.Errorf("%s has no launch of %s", t.Source, like.Name)
}

// signature is a launch's tensors: their types and shapes.
func signature(l *tritonparse.LaunchRecord) string {
	var parts []string
	for _, a := range l.Args {
		if a.Tensor() != nil {
			parts = append(parts, a.Name+"="+a.Brief())
		}
	}
	return strings.Join(parts, " ")
}
