package kernels

import (
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// lineFrame matches the name of a frame that stands for a source line of the kernel above it: /path/kernels.py:12@matmul. The
// function is missing if the compiler did not record it.
var lineFrame = regexp.MustCompile(`^(.+):(\d+)(?:@(.*))?$`)

// FrameName shortens the name of a frame: of one that stands for a line, the path is cut to its last element.
func FrameName(name string) string {
	if m := lineFrame.FindStringSubmatch(name); m != nil {
		name = path.Base(m[1]) + ":" + m[2]
		if m[3] != "" {
			name += "@" + m[3]
		}
	}
	return name
}

const (
	stalledPrefix = "stalled_"
	stalledSum    = "num_stalled_samples"
	anySum        = "num_samples"
	notIssued     = "_not_issued"
)

// fromTree makes instruction samples from frames that stand for source lines. Other tools write such frames, and so do file
// formats without instructions. Each line is represented by one instruction of its kernel. It returns nil if there are none.
func fromTree(p *profile.Profile) *profile.Profile {
	if !countsSamples(p.Root) {
		return nil // most profiles, and copying their trees took a sixth of the time of a report
	}
	b := lineReader{
		facts: &profile.Sampling{}, reasons: map[string]uint16{}, functions: map[string]int{}, places: map[linePlace]uint64{},
		triton: p.Sampling == nil && countsTwice(p.Root),
	}
	if p.Sampling != nil {
		*b.facts = *p.Sampling
		b.facts.Reasons, b.facts.Functions = nil, nil
	}
	root := b.copied(p.Root)
	if len(b.facts.Functions) == 0 {
		return nil
	}
	return &profile.Profile{Root: root, Info: p.Info, Devices: p.Devices, Sampling: b.facts}
}

// countsSamples reports whether any frame counts samples.
func countsSamples(root *profile.Node) bool {
	return root.Any(func(n *profile.Node) bool {
		return slices.ContainsFunc(n.Metrics, func(m profile.Metric) bool { return m.Name == anySum || m.Name == stalledSum })
	})
}

// countsTwice reports whether num_samples counts as Triton does. Triton adds the samples in which nothing was issued to the
// number of all samples, which already includes them. The number of samples is then num_stalled_samples.
func countsTwice(root *profile.Node) bool {
	return root.Any(func(n *profile.Node) bool {
		all, stalled := tritonparse.Amount(n, anySum), tritonparse.Amount(n, stalledSum)
		return stalled > 0 && sumOfReasons(n) == stalled && all > stalled
	})
}

func sumOfReasons(n *profile.Node) (sum uint64) {
	for i := range n.Metrics {
		if reason, is := reasonOf(n.Metrics[i].Name); is && reason != "" {
			sum += tritonparse.Amount(n, n.Metrics[i].Name)
		}
	}
	return sum
}

// reasonOf returns the stall reason that a metric counts, and whether it counts one.
func reasonOf(metric string) (string, bool) {
	reason, is := strings.CutPrefix(metric, stalledPrefix)
	if !is || strings.HasSuffix(reason, notIssued) {
		return "", false
	}
	return strings.ToLower(reason), true // Triton writes not_Selected
}

type lineReader struct {
	facts     *profile.Sampling
	reasons   map[string]uint16
	functions map[string]int
	places    map[linePlace]uint64
	triton    bool
}

// linePlace identifies a line of a function, by the names of its frames.
type linePlace struct {
	function int
	name     string
}

// copied copies the tree, without the frames of lines, and gives samples to the kernels that have such frames or samples of
// their own.
func (b *lineReader) copied(root *profile.Node) *profile.Node {
	var path []*profile.Node
	var top *profile.Node
	kernels := map[*profile.Node]bool{} // of the copies
	root.Walk(func(n *profile.Node, depth int) bool {
		if depth > 0 && kernels[path[depth-1]] && lineFrame.MatchString(n.Name) {
			return false
		}
		c := &profile.Node{Name: n.Name}
		path = append(path[:depth], c)
		if depth > 0 {
			path[depth-1].Children = append(path[depth-1].Children, c)
		} else {
			top = c
		}
		if hasLines(n) {
			b.kernel(n, c)
			kernels[c] = true
		}
		return true // functions that a kernel calls are below it
	})
	return top
}

// hasLines reports whether a frame is a kernel with samples: samples of its own, or samples of the frames of lines directly
// below it.
func hasLines(n *profile.Node) bool {
	if tritonparse.Amount(n, anySum)+tritonparse.Amount(n, stalledSum) > 0 {
		return !lineFrame.MatchString(n.Name)
	}
	for _, c := range n.Children {
		if lineFrame.MatchString(c.Name) && subtreeSampled(c) {
			_, onDevice := n.Metric("device_id")
			return onDevice || !lineFrame.MatchString(n.Name)
		}
	}
	return false
}

func subtreeSampled(n *profile.Node) (sampled bool) {
	n.Walk(func(n *profile.Node, _ int) bool {
		sampled = sampled || tritonparse.Amount(n, anySum)+tritonparse.Amount(n, stalledSum) > 0
		return !sampled && lineFrame.MatchString(n.Name)
	})
	return sampled
}

// kernel gives the copy of a kernel the samples of its lines.
func (b *lineReader) kernel(n, copied *profile.Node) {
	function, known := b.functions[n.Name]
	if !known {
		function = len(b.facts.Functions)
		b.functions[n.Name] = function
		b.facts.Functions = append(b.facts.Functions, profile.SampledFunction{Name: n.Name})
	}
	samples := profile.FunctionSamples{Function: function}
	var chain []profile.SourceFrame // outermost first
	var names []string
	n.Walk(func(line *profile.Node, depth int) bool {
		chain, names = chain[:max(depth-1, 0)], names[:max(depth-1, 0)]
		if m := lineFrame.FindStringSubmatch(line.Name); depth > 0 && m != nil {
			number, _ := strconv.Atoi(m[2]) //nolint:errcheck // digits only; Atoi returns the largest int for a number that is too large
			chain = append(chain, profile.SourceFrame{File: m[1], Line: number, Func: m[3]})
			names = append(names, line.Name)
		} else if depth > 0 {
			return false
		}
		if pc := b.samples(line); pc.Stalls != nil {
			pc.Offset = b.offset(linePlace{function, strings.Join(names, "\x00")}, chain)
			samples.PCs = append(samples.PCs, pc)
		}
		return len(chain) < deepestInlined
	})
	if samples.PCs != nil {
		copied.Samples = []profile.FunctionSamples{samples}
	}
}

// offset returns the offset of the instruction that represents a line. Offsets are numbered in order of first use.
func (b *lineReader) offset(at linePlace, chain []profile.SourceFrame) uint64 {
	offset, known := b.places[at]
	if known {
		return offset
	}
	f := &b.facts.Functions[at.function]
	offset = uint64(len(b.places))
	b.places[at] = offset
	if len(chain) > 0 {
		frames := slices.Clone(chain)
		slices.Reverse(frames)
		f.Places = append(f.Places, profile.Place{Offset: offset, Frames: frames})
	}
	return offset
}

// samples reads the samples of one frame from its metrics.
func (b *lineReader) samples(n *profile.Node) profile.PCSamples {
	var pc profile.PCSamples
	var sum uint64
	for i := range n.Metrics {
		name := n.Metrics[i].Name
		reason, is := reasonOf(name)
		if c := tritonparse.Amount(n, name); is && c > 0 {
			not := min(tritonparse.Amount(n, name+notIssued), c)
			pc.Stalls = append(pc.Stalls, profile.Stall{Reason: b.reason(reason), Samples: c, NotIssued: not})
			sum += c
		}
	}
	all := tritonparse.Amount(n, anySum)
	if b.triton {
		all = tritonparse.Amount(n, stalledSum)
	}
	if all > sum {
		pc.Stalls = append(pc.Stalls, profile.Stall{Reason: b.reason("unknown"), Samples: all - sum})
	}
	return pc
}

func (b *lineReader) reason(name string) uint16 {
	r, known := b.reasons[name]
	if !known {
		r = uint16(min(len(b.facts.Reasons), math.MaxUint16))
		b.reasons[name] = r
		b.facts.Reasons = append(b.facts.Reasons, name)
	}
	return r
}
