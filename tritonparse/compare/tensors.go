package compare

import (
	"fmt"

	"github.com/goproton/goproton/tritonparse"
)

// Tensor is one recorded argument of a launch of each compilation.
type Tensor struct {
	Name    string `json:"name"`
	A       string `json:"a"` // shape and type in brief
	B       string `json:"b"`
	Status  string `json:"status"` // identical (by contents), same statistics, other contents, other statistics, other shape
	Details string `json:"details,omitempty"`
}

// FindTensors compares the arguments of the first launches of both sides that have tensors' contents or statistics; there
// may be none.
func (d *Diff) FindTensors(a, b *tritonparse.Trace) error {
	x, err := a.Recorded(d.A.compilation)
	if err != nil || x == nil {
		return err
	}
	y, err := b.Recorded(d.B.compilation)
	if err != nil || y == nil {
		return err
	}
	for i := range x.Args {
		s, t := x.Args[i].Tensor(), argument(y.Args, x.Args[i].Name)
		if s == nil || t == nil {
			continue
		}
		if status, details := compareTensors(s, t); status != "" {
			d.Tensors = append(d.Tensors, Tensor{x.Args[i].Name, s.Brief(), t.Brief(), status, details})
		}
	}
	return nil
}

func argument(args []tritonparse.Argument, name string) *tritonparse.Argument {
	for i := range args {
		if args[i].Name == name {
			return args[i].Tensor()
		}
	}
	return nil
}

func compareTensors(a, b *tritonparse.Argument) (status, details string) {
	if a.Brief() != b.Brief() {
		return "other shape", ""
	}
	if a.Stats != nil && b.Stats != nil {
		details = fmt.Sprintf("min %g → %g, max %g → %g, mean %g → %g, std %g → %g", a.Stats.Min, b.Stats.Min, a.Stats.Max, b.Stats.Max, a.Stats.Mean, b.Stats.Mean, a.Stats.Std, b.Stats.Std)
	}
	switch {
	case a.Blob != nil && b.Blob != nil && a.Blob.Hash != "" && b.Blob.Hash != "":
		if a.Blob.Hash == b.Blob.Hash {
			return "identical", ""
		}
		return "other contents", details
	case a.Stats == nil || b.Stats == nil:
		return "", ""
	case *a.Stats == *b.Stats:
		return "same statistics", ""
	}
	return "other statistics", details
}
