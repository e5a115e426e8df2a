package compare

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/tensor"
)

// TensorDiff is what differs between the tensors of two launches.
type TensorDiff struct {
	Tensors []Tensor `json:"tensors,omitempty"` // that both have, by the name of the argument

	typesA, typesB map[string]string // of all, by name
	tolerance      tensor.Tolerance
}

// Tensor is one argument of a launch of each compilation, as the launches found it.
type Tensor struct {
	Name    string `json:"name"`
	A       string `json:"a"` // shape and type in brief
	B       string `json:"b"`
	Status  Status `json:"status"`
	Details string `json:"details,omitempty"` // statistics, or why contents are not compared

	Values *tensor.Difference `json:"values,omitempty"` // element by element; nil if that was not done

	a, b *tritonparse.Argument
}

// Status is what came of comparing two tensors.
type Status string

// The contents decide, and where they are not kept the statistics.
const (
	Identical       Status = "identical" // byte for byte, in memory
	Equal           Status = "equal"     // element by element
	Close           Status = "close"     // within the tolerance
	OtherContents   Status = "other contents"
	SameStatistics  Status = "same statistics"
	CloseStatistics Status = "close statistics"
	OtherStatistics Status = "other statistics"
	OtherType       Status = "other type"
	OtherShape      Status = "other shape"
	NotCompared     Status = "not compared"
)

// differs says whether there is something to look at.
func (s Status) differs() bool {
	return s == OtherContents || s == OtherStatistics || s == OtherType || s == OtherShape
}

// Comparer compares tensors. It remembers comparisons by the hashes of the contents, which launches share.
type Comparer struct {
	Tolerance tensor.Tolerance

	seen map[[2]string]outcome // by hashes
}

type outcome struct {
	difference *tensor.Difference
	err        error
}

// FindTensors compares the arguments of the first launches of both sides that have tensors' contents or statistics; there
// may be none.
func (d *Diff) FindTensors(a, b *tritonparse.Trace, c *Comparer) error {
	x, err := a.Recorded(d.A.compilation)
	if err != nil {
		return err
	}
	y, err := b.Recorded(d.B.compilation)
	if err != nil {
		return err
	}
	switch {
	case x != nil && y != nil:
		d.CompareTensors(x, y, c)
	case x != nil:
		d.Notes = append(d.Notes, oneSided("A", "B"))
	case y != nil:
		d.Notes = append(d.Notes, oneSided("B", "A"))
	}
	return nil
}

const howToRecord = "record them with proton run --trace DIR:tensors, or :statistics"

func oneSided(has, lacks string) string {
	return fmt.Sprintf("tensors are not compared: %s says what is in them, %s does not; %s", has, lacks, howToRecord)
}

// CompareTensors compares the arguments of two launches, one of each side.
func (d *Diff) CompareTensors(a, b *tritonparse.LaunchRecord, c *Comparer) {
	x, y := a.Place(), b.Place()
	d.A.Launch, d.B.Launch = &x, &y
	d.TensorDiff = c.Launches(a, b)
	switch inA, inB := tells(a), tells(b); {
	case len(d.Tensors) == 0:
		d.Notes = append(d.Notes, "tensors are not compared: the launches have none of one name")
	case inA && !inB:
		d.Notes = append(d.Notes, oneSided("launch A", "launch B"))
	case inB && !inA:
		d.Notes = append(d.Notes, oneSided("launch B", "launch A"))
	case !inA:
		d.Notes = append(d.Notes, "the contents of tensors are not compared: neither launch says what is in them; "+howToRecord)
	}
}

// tells says whether a launch has the contents of tensors, or statistics of them.
func tells(l *tritonparse.LaunchRecord) bool {
	return slices.ContainsFunc(l.Args, func(a tritonparse.Argument) bool {
		t := a.Tensor()
		return t != nil && (t.Stats != nil || t.Blob != nil)
	})
}

func (c *Comparer) Launches(a, b *tritonparse.LaunchRecord) TensorDiff {
	d := TensorDiff{typesA: types(a), typesB: types(b), tolerance: c.Tolerance}
	for i := range a.Args {
		name := a.Args[i].Name
		s, t := a.Args[i].Tensor(), b.Arg(name)
		if t != nil {
			t = t.Tensor()
		}
		if s != nil && t != nil {
			d.Tensors = append(d.Tensors, c.compare(name, s, t, a.File, b.File))
		}
	}
	return d
}

// types are those of a launch's tensors.
func types(l *tritonparse.LaunchRecord) map[string]string {
	of := map[string]string{}
	for i := range l.Args {
		if t := l.Args[i].Tensor(); t != nil {
			of[l.Args[i].Name] = t.Dtype
		}
	}
	return of
}

// differing are the tensors that there is something to look at.
func (d *TensorDiff) differing() []*Tensor {
	var list []*Tensor
	for i := range d.Tensors {
		if t := &d.Tensors[i]; t.Status.differs() {
			list = append(list, t)
		}
	}
	return list
}

// compare compares two tensors of traces in these files.
func (c *Comparer) compare(name string, a, b *tritonparse.Argument, fileA, fileB string) Tensor {
	t := Tensor{Name: name, A: a.Brief(), B: b.Brief(), a: a, b: b}
	switch {
	case !slices.Equal(a.Shape, b.Shape):
		t.Status = OtherShape
		return t
	case a.Blob != nil && b.Blob != nil && a.Blob.Hash != "" && strings.EqualFold(a.Blob.Hash, b.Blob.Hash):
		t.Status = Identical
		return t
	}
	var details []string
	status := NotCompared
	if a.Stats != nil && b.Stats != nil {
		status = c.statistics(a.Stats, b.Stats)
		details = append(details, briefStatistics(a.Stats, b.Stats))
	}
	var why string
	t.Values, why = c.contents(a, b, fileA, fileB)
	details = append(details, why)
	switch {
	case a.Dtype != b.Dtype:
		t.Status = OtherType
	case t.Values != nil:
		t.Status = verdict(t.Values)
	case status == NotCompared && a.Blob != nil && b.Blob != nil && a.Blob.Hash != "" && b.Blob.Hash != "":
		t.Status = OtherContents
		details = append([]string{"by its hash"}, details...)
	default:
		t.Status = status
	}
	t.Details = strings.Join(slices.DeleteFunc(details, func(d string) bool { return d == "" }), "; ")
	return t
}

func verdict(d *tensor.Difference) Status {
	switch {
	case d.Differing == 0:
		return Equal
	case d.Beyond == 0:
		return Close
	}
	return OtherContents
}

// contents compares what is kept of two tensors, or says why it does not.
func (c *Comparer) contents(a, b *tritonparse.Argument, fileA, fileB string) (*tensor.Difference, string) {
	if a.Blob == nil && b.Blob == nil {
		return nil, "" // contents were not asked for
	}
	for i, blob := range []*tritonparse.Blob{a.Blob, b.Blob} {
		if blob == nil || blob.Path == "" {
			why := "the contents of " + "AB"[i:i+1] + " were not kept"
			if blob != nil && blob.Error != "" {
				why += ": " + blob.Error
			}
			return nil, why
		}
	}
	key := [2]string{a.Blob.Hash, b.Blob.Hash}
	o, known := c.seen[key]
	if !known || key[0] == "" || key[1] == "" {
		o.difference, o.err = c.read(a, b, fileA, fileB)
		if c.seen == nil {
			c.seen = map[[2]string]outcome{}
		}
		c.seen[key] = o
	}
	if o.err != nil {
		return nil, "the contents cannot be compared: " + o.err.Error()
	}
	return o.difference, ""
}

// read opens both files at once: their hashes are checked, which takes as long as comparing.
func (c *Comparer) read(a, b *tritonparse.Argument, fileA, fileB string) (*tensor.Difference, error) {
	var y *tensor.Tensor
	var errB error
	done := make(chan struct{})
	go func() {
		y, errB = openBlob(b, fileB)
		close(done)
	}()
	x, errA := openBlob(a, fileA)
	<-done
	for _, t := range []*tensor.Tensor{x, y} {
		if t != nil {
			defer t.Close()
		}
	}
	switch {
	case errA != nil:
		return nil, errA
	case errB != nil:
		return nil, errB
	}
	return tensor.Compare(x, y, c.Tolerance)
}

func openBlob(t *tritonparse.Argument, trace string) (*tensor.Tensor, error) {
	b := t.Blob
	path := b.Find(trace)
	if path == "" {
		folder, name := filepath.Split(b.Path)
		return nil, fmt.Errorf("%.16s… is neither in %s nor in saved_tensors next to the trace", name, folder)
	}
	return tensor.Open(path, tensor.Recorded{Hash: b.Hash, Size: b.Uncompressed, Elements: t.Bytes})
}

// statistics compares two tensors of which no more is known: none of the numbers may differ by more than the tolerance.
func (c *Comparer) statistics(a, b *tritonparse.Statistics) Status {
	status := SameStatistics
	for _, s := range statistics(a, b) {
		switch {
		case s.same():
		case !math.IsInf(s.b, 0) && math.Abs(s.a-s.b) <= c.Tolerance.Absolute+c.Tolerance.Relative*math.Abs(s.b):
			status = CloseStatistics
		default:
			return OtherStatistics
		}
	}
	return status
}

// statistic is one number of the statistics of two tensors.
type statistic struct {
	name string
	a, b float64
}

func (s statistic) same() bool { return s.a == s.b || math.IsNaN(s.a) && math.IsNaN(s.b) }

func statistics(a, b *tritonparse.Statistics) []statistic {
	return []statistic{{"min", a.Min, b.Min}, {"max", a.Max, b.Max}, {"mean", a.Mean, b.Mean}, {"std", a.Std, b.Std}}
}

func briefStatistics(a, b *tritonparse.Statistics) string {
	var parts []string
	for _, s := range statistics(a, b) {
		if !s.same() {
			parts = append(parts, fmt.Sprintf("%s %.7g → %.7g", s.name, s.a, s.b))
		}
	}
	return strings.Join(parts, ", ")
}
