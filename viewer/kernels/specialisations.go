package kernels

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// Kernel is the kernels of one name: how long their launches took, by specialisation and arguments.
type Kernel struct {
	Name   string
	Times  profile.Durations // of all measured launches
	Traced int               // number of launches in the trace
	Rates                    // of all launches together

	Specialisations []*Specialisation // most time first
}

// Unattributed are the measured launches of the kernel whose specialisation is unknown.
func (k *Kernel) Unattributed() profile.Durations {
	return rest(&k.Times, k.Specialisations, func(s *Specialisation) *profile.Durations { return &s.Times })
}

// Specialisation is one compilation of a kernel.
type Specialisation struct {
	Hash        string                   // compile hash; "" for launches that do not have one
	Compilation *tritonparse.Compilation // nil if the trace does not have it
	Label       string                   // settings that distinguish it from the others: BLOCK_M=128 num_warps=8
	Constexprs  []Setting
	Options     []Setting // num_warps, num_stages …
	Registers   int       // per thread; 0 if that is not known
	Shared      int       // bytes of shared memory per block; -1 if that is not known
	Times       profile.Durations
	Traced      int      // number of launches in the trace
	Rates                // of all its launches together
	Groups      []*Group // most time first
	Unlisted    int      // number of groups beyond mostKinds, which are not in Groups
}

// mostKinds is how many kinds of launches of a specialisation are looked into: those with most time. A kernel with a new
// argument at each launch, such as a seed, has a kind for each; reading 300,000 of them took 40 s and 2.8 GB.
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

// rest is a sum less its parts. The shortest and longest of the rest are not known.
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
	Arguments []Setting // all of them, shortened; nil if the trace does not have the launch
	Note      string    // of the trace, why there are no arguments
	Label     string    // arguments that distinguish it from the others: M=1024 N=1024 K=512
	Times     profile.Durations
	Traced    int    // number of launches in the trace
	File      string // of the trace, with the first launch of this kind
	Line      int    // of that record
	Work      Work

	kind *tritonparse.Kind // nil if the trace does not have it
}

// Setting is a name with its value as text.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// joiner joins a profile with its trace.
type joiner struct {
	names map[string]bool // of kernels that the profile names; nil until it was looked at
	*Run
	kernels map[string]*Kernel
	specs   map[kernelHash]*Specialisation
	groups  map[inSpecialisation]*Group
	work    worker

	ran      int  // kinds of launches whose work was counted by running them
	untraced bool // all samples are of kernels that the trace does not have
}

// kernelHash identifies a specialisation. Launches without a compile hash have one for each kernel.
type kernelHash struct{ kernel, hash string }

// inSpecialisation identifies a group.
type inSpecialisation struct {
	of *Specialisation
	id string
}

// join collects the kernels by name. Either of profile and trace may be missing.
func (r *Run) join() error {
	j := joiner{
		Run: r, kernels: map[string]*Kernel{}, specs: map[kernelHash]*Specialisation{},
		groups: map[inSpecialisation]*Group{}, work: worker{profile: r.options.Profile},
	}
	if err := j.readTrace(); err != nil {
		return err
	}
	if err := j.readProfile(); err != nil {
		return err
	}
	j.order()
	if err := j.choose(); err != nil {
		return err
	}
	r.code = newCode(r)
	r.correctLines()
	for _, k := range r.Kernels {
		if r.options.Measured && !j.named(k.Name) {
			continue
		}
		for _, s := range k.Specialisations {
			s.shorten()
		}
		if err := j.describe(k); err != nil {
			return err
		}
		j.prune(k)
	}
	r.addSources()
	j.notes()
	return nil
}

// named says whether the profile has a frame or samples of a kernel.
func (j *joiner) named(kernel string) bool {
	if j.names == nil {
		j.names = map[string]bool{}
		if p := j.options.Profile; p != nil {
			p.Root.Walk(func(n *profile.Node, _ int) bool {
				j.names[tritonparse.KernelOfFrame(n.Name)] = true
				return true
			})
			if p.Sampling != nil {
				for i := range p.Sampling.Functions {
					j.names[p.Sampling.Functions[i].Name] = true
				}
			}
		}
	}
	return j.names[kernel]
}

func (j *joiner) kernel(name string) *Kernel {
	k := j.kernels[name]
	if k == nil {
		k = &Kernel{Name: name}
		j.kernels[name] = k
	}
	return k
}

func (j *joiner) spec(hash, kernel string) *Specialisation {
	at := kernelHash{hash: hash}
	if hash == "" {
		at.kernel = kernel
	}
	s := j.specs[at]
	if s == nil {
		s = &Specialisation{Hash: hash, Shared: -1}
		j.specs[at] = s
		k := j.kernel(kernel)
		k.Specialisations = append(k.Specialisations, s)
	}
	return s
}

func (j *joiner) group(s *Specialisation, id string) *Group {
	at := inSpecialisation{s, id}
	g := j.groups[at]
	if g == nil {
		g = &Group{ID: id, Line: -1}
		j.groups[at] = g
		s.Groups = append(s.Groups, g)
	}
	return g
}

// order sorts everything by time, and without times by number of launches.
func (j *joiner) order() {
	more := func(t, u *profile.Durations, traced, other int) int {
		return cmp.Or(cmp.Compare(u.Nanos, t.Nanos), cmp.Compare(u.Count, t.Count), cmp.Compare(other, traced))
	}
	for _, k := range j.kernels {
		j.Kernels = append(j.Kernels, k)
		for _, s := range k.Specialisations {
			slices.SortFunc(s.Groups, func(x, y *Group) int {
				return cmp.Or(more(&x.Times, &y.Times, x.Traced, y.Traced), cmp.Compare(x.Line, y.Line), cmp.Compare(x.ID, y.ID))
			})
		}
		slices.SortFunc(k.Specialisations, func(x, y *Specialisation) int {
			return cmp.Or(more(&x.Times, &y.Times, x.Traced, y.Traced), cmp.Compare(x.Hash, y.Hash))
		})
	}
	slices.SortFunc(j.Kernels, func(x, y *Kernel) int {
		return cmp.Or(more(&x.Times, &y.Times, x.Traced, y.Traced), cmp.Compare(x.Name, y.Name))
	})
}

// prune removes specialisations and kinds of launches that no call path has that passes the filters, since the trace has no call
// paths. Labels are computed before, so that filters change no names.
func (j *joiner) prune(k *Kernel) {
	if !j.Filtered() || !j.knowsKinds() || k.Times.Count == 0 {
		return
	}
	k.Specialisations = slices.DeleteFunc(k.Specialisations, func(s *Specialisation) bool { return s.Times.Count == 0 })
	for _, s := range k.Specialisations {
		s.Groups = slices.DeleteFunc(s.Groups, func(g *Group) bool { return g.Times.Count == 0 })
	}
}

// hottest is the index of the kernel with most samples, or without samples of the one with most time. It makes that kernel's
// function the requested one of the samples. Functions of libraries, which the trace does not have, are passed over.
func (j *joiner) hottest() int {
	if j.Samples == nil {
		return 0
	}
	for _, f := range j.Samples.AllFunctions() {
		at := slices.IndexFunc(j.Kernels, func(k *Kernel) bool { return k.Name == f.Symbol.Name })
		if at >= 0 {
			j.Samples.show(f)
			return at
		}
	}
	j.Samples, j.untraced = nil, true
	return 0
}

// choose moves the kernels that were not requested to j.Others.
func (j *joiner) choose() (err error) {
	if len(j.Kernels) == 0 {
		return errors.New("neither the profile nor the trace has a kernel of Triton's")
	}
	if j.options.Kernel == "" {
		first := j.hottest()
		one := j.Kernels[first]
		j.Kernels, j.Others = []*Kernel{one}, slices.Delete(slices.Clone(j.Kernels), first, first+1)
		return nil
	}
	j.Kernels, j.Others, err = split(j.Kernels, j.options.Kernel, func(k *Kernel) []string { return []string{k.Name} })
	if err == nil && len(j.Kernels) == 0 && j.Samples == nil {
		return fmt.Errorf("no kernel matches %q; those with most time are %s", j.options.Kernel, FirstNames(j.Others, 5, kernelName))
	}
	return err
}

func kernelName(k *Kernel) string { return k.Name }

// addSources adds the source texts that the trace has to r.Files.
func (r *Run) addSources() {
	type part struct {
		file  string
		first int
	}
	added := map[part]bool{}
	add := func(file string, first int, text string) {
		if at := (part{file, first}); file != "" && text != "" && !added[at] {
			added[at] = true
			r.Files.Add(file, first, text)
		}
	}
	for _, k := range r.Kernels {
		for _, s := range k.Specialisations {
			if s.Compilation == nil {
				continue
			}
			if p := s.Compilation.Python; p != nil {
				add(p.File, p.Start, p.Code)
			}
			if x := s.Compilation.Extra; x != nil {
				for _, d := range x.Dependencies {
					add(d.File, d.Line, d.Code)
				}
			}
		}
	}
}
