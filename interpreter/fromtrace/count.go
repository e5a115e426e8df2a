package fromtrace

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/parse"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

// Bounds of a launch that is run to count it.
const (
	mostPrograms = 64      // program instances, at even distances
	mostSteps    = 1 << 18 // operations of these
	mostTensors  = 1 << 30 // bytes
)

// Counted is what some program instances of a launch did.
type Counted struct {
	*interpreter.Result
	By   float64 // as often as all instances are of those that were run
	Note string
}

// Count runs program instances of a launch, with recorded contents of tensors or made-up ones, to say what all of them do. If that takes too
// long, fewer are run.
func Count(t *tritonparse.Trace, l *tritonparse.LaunchRecord) (*Counted, error) {
	return countWithin(t, l, mostTensors)
}

func countWithin(t *tritonparse.Trace, l *tritonparse.LaunchRecord, most int64) (*Counted, error) {
	if c := t.Compilation(l.Hash); c != nil && c.Work(l).Arguments > most {
		return nil, fmt.Errorf("its tensors have more than %d MiB", most>>20)
	}
	in, err := reproduce.ReadInputs(t, l, reproduce.Options{MostMemory: most})
	if err != nil {
		return nil, err
	}
	p, err := interpreter.Load(ttir.Parse(in.TTIR))
	if err != nil {
		return nil, err
	}
	all := int64(in.Grid[0]) * int64(in.Grid[1]) * int64(in.Grid[2])
	for n := min(all, mostPrograms); ; n = max(n/8, 1) {
		r, err := p.Launch(in.Kernel, in.Grid, Arguments(in), interpreter.Options{MaxSteps: mostSteps, Programs: sampled(in.Grid, n, all)})
		var found *interpreter.Finding
		if errors.As(err, &found) && found.Kind == "steps" {
			if n > 1 {
				continue
			}
			err = fmt.Errorf("one program instance takes more than %d operations", mostSteps)
		}
		if err != nil {
			return nil, err
		}
		note := fmt.Sprintf("counted by running %d of %d program instances", n, all)
		if slices.ContainsFunc(in.Tensors, func(made reproduce.Rebuilt) bool { return made.From != "recorded" }) {
			note += " on made-up values"
		}
		return &Counted{r, float64(all) / float64(n), note}, nil
	}
}

// sampled are n program instances at even distances.
func sampled(grid [3]int32, n, all int64) (list [][3]int32) {
	x, y := int64(grid[0]), int64(grid[1])
	for i := range n {
		at := i * all / n
		list = append(list, [3]int32{int32(at % x), int32(at / x % y), int32(at / x / y)})
	}
	return list
}

// mostParsed is mostTensors while a trace is parsed, which takes little memory.
const mostParsed = 64 << 20

// Run is parse.Options.Run for the records of a trace.
func Run(source string, compilation, launch []byte) (ran parse.Ran, err error) {
	t, l, err := tritonparse.OfRecords(source, compilation, launch)
	if err != nil {
		return ran, err
	}
	if l.Args == nil {
		return ran, errors.New("its arguments were not recorded")
	}
	c, err := countWithin(t, l, mostParsed)
	if place := errors.Unwrap(err); place != nil {
		err = place // without that of the record, which is not in a file here
	}
	if err != nil {
		return ran, err
	}
	ran.Note = c.Note
	for i := range c.Lines {
		of := &c.Lines[i]
		ran.Loaded += c.By * float64(of.Loads.ActiveBytes+of.Atomics.ActiveBytes)
		ran.Stored += c.By * float64(of.Stores.ActiveBytes+of.Atomics.ActiveBytes)
		for _, n := range of.DotFlops {
			ran.Dots += c.By * float64(n)
		}
		for _, n := range of.Flops {
			ran.Flops += c.By * float64(n)
		}
	}
	return ran, nil
}
