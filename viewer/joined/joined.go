// Package joined joins a profile with the TritonParse trace of the same run: how long each specialisation of a kernel took
// for which arguments, what of the GPU's roof it reached, and what the compiler made of the lines where the samples are.
//
// In go a profile, a trace, or both; each missing one costs what it alone knows, and is named in a note. The passes:
//
//  1. kinds    launches of the trace by specialisation and arguments (trace.go)
//  2. times    those that the profile measured, by the same keys (times.go)
//  3. work     bytes and operations of each kind of launch, and the device's peaks (work.go)
//  4. code     which of the profile's functions is which compilation, and its lines in every representation (code.go, ir.go),
//     and what its instructions were made of (instructions.go)
//  5. print    print.go, json.go; split.go gives the tree of the viewer a row for each kind of launch; compare.go pairs two runs
//
// Keys are exact where both sides were recorded in one run: launches by their kind, functions by the hash of the binary.
package joined

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/source"
)

// Options say what is joined, and which kernels are shown.
type Options struct {
	Profile *profile.Profile   // nil: only a trace
	Trace   *tritonparse.Trace // nil: only a profile
	Samples *source.Samples    // of the profile; nil if it has none
	Modules *source.Modules    // finds the binaries that were sampled, from now on also where the trace has them; nil: only those of the trace count
	Kernel  string             // regular expression (Go's) found anywhere in the name; "" is the one kernel with most time
	Include string             // only call paths through a frame that matches
	Exclude string             // no call path through a frame that matches

	namesOnly bool // only what kernels, specialisations and groups are called is wanted
}

// Join is the result.
type Join struct {
	Kernels []*Kernel // those asked for, most time first
	Others  []*Kernel // the others
	Nanos   uint64    // GPU time of the call paths that count
	Notes   []string  // what is missing, and how to get it

	options Options
	code    *code
}

// Kernel is a kernel by its name.
type Kernel struct {
	Name   string
	Times  profile.Durations // of all launches that were measured
	Traced int               // launches in the trace
	Rates                    // of all launches together

	Specialisations []*Specialisation // most time first
}

// Unattributed are the measured launches of the kernel whose specialisation is unknown.
func (k *Kernel) Unattributed() profile.Durations {
	return rest(&k.Times, k.Specialisations, func(s *Specialisation) *profile.Durations { return &s.Times })
}

// Specialisation is one compilation of a kernel.
type Specialisation struct {
	Hash        string
	Compilation *tritonparse.Compilation // nil if the trace does not have it
	Label       string                   // what tells it from the others: BLOCK_M=128 num_warps=8
	Constexprs  []Setting
	Options     []Setting // num_warps, num_stages …
	Registers   int       // per thread; 0 if neither the samples nor a binary tell
	Shared      int       // bytes of shared memory per block; -1 if that is not known
	Times       profile.Durations
	Traced      int
	Rates                // of all its launches together
	Groups      []*Group // most time first
	Unlisted    int      // how many more there would be
}

// mostKinds of a specialisation are looked into: those that took most time. A kernel with a new argument at each launch, such
// as a seed, has one for each; 300,000 of them took 40 s and 2.8 GB, and nobody reads them.
const mostKinds = 1 << 12

func (s *Specialisation) shorten() {
	if s.Unlisted = max(0, len(s.Groups)-mostKinds); s.Unlisted > 0 {
		s.Groups = slices.Clone(s.Groups[:mostKinds])
	}
}

// Unattributed are the measured launches of the specialisation whose arguments are unknown.
func (s *Specialisation) Unattributed() profile.Durations {
	return rest(&s.Times, s.Groups, func(g *Group) *profile.Durations { return &g.Times })
}

// rest is what parts leave of a sum. Their shortest and longest are not known.
func rest[T any](sum *profile.Durations, parts []T, times func(T) *profile.Durations) profile.Durations {
	left := profile.Durations{Count: sum.Count, Nanos: sum.Nanos}
	for _, p := range parts {
		t := times(p)
		left.Count, left.Nanos = left.Count-min(left.Count, t.Count), left.Nanos-min(left.Nanos, t.Nanos)
	}
	return left
}

// Group is the launches of a specialisation with the same arguments.
type Group struct {
	ID        string // see tritonparse.LaunchKind
	Grid      []int
	Arguments []Setting // all of them, in a few characters each; nil if the trace does not have the launch
	Note      string    // of the trace, why there are no arguments
	Label     string    // what tells it from the others: M=1024 N=1024 K=512
	Times     profile.Durations
	Traced    int
	File      string // of the trace, with the first launch of this kind
	Line      int    // of that record
	Work      Work

	kind *tritonparse.Kind // nil if the trace does not have it
}

// Setting is a name with its value as text.
type Setting struct {
	Name, Value string
}

// builder is a join in the making.
type builder struct {
	*Join
	kernels map[string]*Kernel
	specs   map[kernelHash]*Specialisation
	groups  map[inSpecialisation]*Group
	byName  map[string]*profile.Durations // of kernels whose launches the profile does not tell apart
	work    worker
	wanted  *regexp.Regexp

	untraced bool // all samples are of kernels that the trace does not have
}

// kernelHash tells specialisations apart. Launches that do not say theirs have one for each kernel.
type kernelHash struct{ kernel, hash string }

// inSpecialisation tells kinds of launches apart.
type inSpecialisation struct {
	of *Specialisation
	id string
}

// New joins what there is.
func New(o Options) (*Join, error) {
	if o.Profile == nil && o.Trace == nil {
		return nil, errors.New("there is neither a profile nor a trace")
	}
	b := builder{
		Join: &Join{options: o}, kernels: map[string]*Kernel{}, specs: map[kernelHash]*Specialisation{},
		groups: map[inSpecialisation]*Group{}, byName: map[string]*profile.Durations{}, work: worker{profile: o.Profile},
	}
	var err error
	if b.wanted, err = regexp.Compile(o.Kernel); err != nil {
		return nil, fmt.Errorf("read the kernel's name %q: %w", o.Kernel, err)
	}
	if err := b.readTrace(); err != nil {
		return nil, err
	}
	if err := b.readProfile(); err != nil {
		return nil, err
	}
	b.order()
	if err := b.choose(); err != nil {
		return nil, err
	}
	b.code = newCode(o)
	if o.Samples != nil && o.Trace != nil {
		for _, k := range o.Samples.Kernels {
			b.code.straighten(k)
		}
	}
	for _, k := range b.Kernels {
		for _, s := range k.Specialisations {
			s.shorten()
		}
		if err := b.describe(k); err != nil {
			return nil, err
		}
		b.prune(k)
	}
	b.notes()
	return b.Join, nil
}

func (b *builder) kernel(name string) *Kernel {
	k := b.kernels[name]
	if k == nil {
		k = &Kernel{Name: name}
		b.kernels[name] = k
	}
	return k
}

func (b *builder) spec(hash, kernel string) *Specialisation {
	at := kernelHash{hash: hash}
	if hash == "" {
		at.kernel = kernel
	}
	s := b.specs[at]
	if s == nil {
		s = &Specialisation{Hash: hash, Shared: -1}
		b.specs[at] = s
		k := b.kernel(kernel)
		k.Specialisations = append(k.Specialisations, s)
	}
	return s
}

func (b *builder) group(s *Specialisation, id string) *Group {
	at := inSpecialisation{s, id}
	g := b.groups[at]
	if g == nil {
		g = &Group{ID: id, Line: -1}
		b.groups[at] = g
		s.Groups = append(s.Groups, g)
	}
	return g
}

// order sorts everything by time, and where there is none by launches.
func (b *builder) order() {
	more := func(t, u *profile.Durations, traced, other int) int {
		return cmp.Or(cmp.Compare(u.Nanos, t.Nanos), cmp.Compare(u.Count, t.Count), cmp.Compare(other, traced))
	}
	for _, k := range b.kernels {
		b.Kernels = append(b.Kernels, k)
		for _, s := range k.Specialisations {
			slices.SortFunc(s.Groups, func(x, y *Group) int {
				return cmp.Or(more(&x.Times, &y.Times, x.Traced, y.Traced), cmp.Compare(x.Line, y.Line), cmp.Compare(x.ID, y.ID))
			})
		}
		slices.SortFunc(k.Specialisations, func(x, y *Specialisation) int {
			return cmp.Or(more(&x.Times, &y.Times, x.Traced, y.Traced), cmp.Compare(x.Hash, y.Hash))
		})
	}
	slices.SortFunc(b.Kernels, func(x, y *Kernel) int {
		return cmp.Or(more(&x.Times, &y.Times, x.Traced, y.Traced), cmp.Compare(x.Name, y.Name))
	})
}

// prune takes out what no call path has that the filters leave: the trace does not know call paths. It comes after labels are
// given, so that filters change no names.
func (b *builder) prune(k *Kernel) {
	if b.options.Include == "" && b.options.Exclude == "" || !b.told() || k.Times.Count == 0 {
		return
	}
	k.Specialisations = slices.DeleteFunc(k.Specialisations, func(s *Specialisation) bool { return s.Times.Count == 0 })
	for _, s := range k.Specialisations {
		s.Groups = slices.DeleteFunc(s.Groups, func(g *Group) bool { return g.Times.Count == 0 })
	}
}

// hottest is the place of the kernel with most samples, or where there are none with most time. The listing of samples shows
// the same: not a library's, of which the trace knows nothing.
func (b *builder) hottest() int {
	s := b.options.Samples
	if s == nil {
		return 0
	}
	for _, sampled := range slices.Concat(s.Kernels, s.Others) {
		at := slices.IndexFunc(b.Kernels, func(k *Kernel) bool { return k.Name == sampled.Function.Name })
		if at >= 0 {
			s.Show(sampled)
			return at
		}
	}
	b.options.Samples, b.untraced = nil, true
	return 0
}

// choose parts the kernels that were asked for from the others.
func (b *builder) choose() error {
	if len(b.Kernels) == 0 {
		return errors.New("neither the profile nor the trace has a kernel of Triton's")
	}
	if b.options.Kernel == "" {
		first := b.hottest()
		one := b.Kernels[first]
		b.Kernels, b.Others = []*Kernel{one}, slices.Delete(slices.Clone(b.Kernels), first, first+1)
		return nil
	}
	var chosen []*Kernel
	for _, k := range b.Kernels {
		if b.wanted.MatchString(k.Name) {
			chosen = append(chosen, k)
		} else {
			b.Others = append(b.Others, k)
		}
	}
	if b.Kernels = chosen; len(chosen) == 0 && b.options.Samples == nil {
		return fmt.Errorf("no kernel matches %q; those with most time are %s", b.options.Kernel, source.FirstNames(b.Others, 5, kernelName))
	}
	return nil
}
