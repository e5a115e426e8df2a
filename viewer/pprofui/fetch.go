package pprofui

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profile/pprofile"
)

// inputs are the profiles of a command line. They are read before the driver asks for them, because the driver reports a file that
// it cannot read as one that it could not fetch, and continues without it.
type inputs struct {
	mu   sync.Mutex
	read map[string][]*pprof.Profile // by file, one for each time that it is named: the driver changes them
}

// Fetch returns a profile to the driver. It names no source, so that the driver takes the profile for a local one and saves no copy.
func (r *run) Fetch(file string, _, _ time.Duration) (*pprof.Profile, string, error) {
	r.inputs.mu.Lock()
	defer r.inputs.mu.Unlock()
	left := r.inputs.read[file]
	if len(left) == 0 {
		return nil, "", fmt.Errorf("read profile %s: the command line does not name it", file)
	}
	r.inputs.read[file] = left[1:]
	return left[0], "", nil
}

// load reads everything that a command line names.
func (r *run) load(files []string) error {
	if len(files) > 1 && isProgram(files[0]) {
		files = files[1:] // pprof's optional first argument: the program that was profiled
	}
	bases := r.bases()
	all := append(slices.Clone(files), bases...)
	if err := r.checkNames(all); err != nil {
		return err
	}
	var from *formats.Format
	if name := *r.flags.from; name != "" {
		var err error
		if from, err = formats.ByName(name); err != nil {
			return fmt.Errorf("-from=%s: %w; %w", name, err, ErrUsage)
		}
	}
	profiles := make([]*pprof.Profile, len(all))
	errs, untimed := make([]error, len(all)), make([]string, len(all))
	var wait sync.WaitGroup
	room := make(chan struct{}, 4) // at once, to bound the memory of a thousand ranks' trees
	for i, file := range all {
		wait.Go(func() {
			room <- struct{}{}
			profiles[i], untimed[i], errs[i] = readFile(file, r.stdin, from)
			<-room
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, why := range untimed {
		if why != "" {
			fmt.Fprintf(r.stderr, "proton: %s: %s\n", term.Printable(all[i]), why)
		}
	}
	if len(files) > 1 {
		labelFiles(files, profiles[:len(files)])
	}
	for _, p := range profiles {
		dropUnseen(p)
		spellOut(p)
		hideFiles(p)
		if r.flags.given("weblist") != "" {
			dropWithoutFile(p)
		}
	}
	r.nameTagFrames(profiles)
	align(profiles)
	r.inputs.read = map[string][]*pprof.Profile{}
	for i, file := range all {
		r.inputs.read[file] = append(r.inputs.read[file], profiles[i])
	}
	return r.prepare()
}

func (r *run) bases() []string {
	var list []string
	for _, b := range append(slices.Clone(*r.flags.base), *r.flags.diff...) {
		if *b != "" {
			list = append(list, *b)
		}
	}
	return list
}

func (r *run) checkNames(files []string) error {
	stdin := 0
	for _, file := range files {
		if u, err := url.Parse(file); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return fmt.Errorf("%s: proton pprof reads files only; get it with curl -o profile.pb.gz '%s'", file, file)
		}
		if file == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return fmt.Errorf("standard input holds one profile, and - is given %d times", stdin)
	}
	if stdin == 1 && !r.flags.report() && r.flags.given("http") == "" {
		return errors.New("the profile comes through standard input, so pprof's shell has nothing to read commands from; add -top, -tree or -http=:0")
	}
	return nil
}

// readFile reads any format, or only the one that is not nil. A file of pprof's is used as it is, since a tree would not keep all of it.
// untimed is why a profile has no times; "" if it has some.
func readFile(file string, stdin io.Reader, from *formats.Format) (read *pprof.Profile, untimed string, err error) {
	var direct *pprof.Profile
	either := &formats.Format{Read: func(in io.Reader) (p *profile.Profile, err error) {
		buffered := bufio.NewReader(in)
		head, err := buffered.Peek(4096)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if from == nil && pprofile.Sniff(head) || from != nil && from.Name == "pprof" {
			direct, err = pprofile.Parse(buffered)
			return nil, err
		}
		return formats.ReadAs(buffered, from)
	}}
	var p *profile.Profile
	if file == "-" {
		p, err = formats.ReadAs(stdin, either)
	} else if _, missing := os.Stat(file); missing != nil {
		p, err = formats.ReadFileAs(file, from) // its parts may be there
	} else {
		p, err = formats.ReadFileAs(file, either)
	}
	switch {
	case err != nil && formats.NotThere(err):
		return nil, "", fmt.Errorf("%w; give a profile, for example the .hatchet file that proton run writes", err)
	case err != nil:
		return nil, "", err
	case direct != nil:
		return direct, "", nil
	}
	read, err = convert(p, file)
	return read, counters.NoTimes(p), err
}

// convert turns a tree into samples. A profile without a name gets that of its file.
func convert(p *profile.Profile, file string) (*pprof.Profile, error) {
	if p.Info[profile.InfoName] == "" && file != "-" {
		if p.Info == nil {
			p.Info = profile.Info{}
		}
		p.Info[profile.InfoName] = filepath.Base(file)
	}
	pp, err := pprofile.New(p)
	if err != nil {
		return nil, fmt.Errorf("read profile %s: %w", file, err)
	}
	return pp, nil
}

// dropUnseen removes what the viewer does not show: the work of launch metadata, so that both have the same totals, and call
// paths without any recorded value, which -traces would list with a 0 each.
func dropUnseen(p *pprof.Profile) {
	metadata := map[*pprof.Location]bool{}
	for _, l := range p.Location {
		for _, line := range l.Line {
			if line.Function != nil && profile.IsLaunchMetadata(line.Function.Name) {
				metadata[l] = true
			}
		}
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *pprof.Sample) bool {
		empty := len(s.Label)+len(s.NumLabel) == 0 && !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 })
		return empty || len(metadata) > 0 && slices.ContainsFunc(s.Location, func(l *pprof.Location) bool { return metadata[l] })
	})
}

// spellOut escapes the control characters of names and labels, because pprof's reports print them unchanged.
func spellOut(p *pprof.Profile) {
	for _, f := range p.Function {
		f.Name, f.SystemName, f.Filename = term.Printable(f.Name), term.Printable(f.SystemName), term.Printable(f.Filename)
	}
	for _, m := range p.Mapping {
		m.File, m.BuildID = term.Printable(m.File), term.Printable(m.BuildID)
	}
	for i, c := range p.Comments {
		if !strings.HasPrefix(c, "#") { // these are for programs, and no report prints them
			p.Comments[i] = term.Printable(c)
		}
	}
	for _, st := range p.SampleType {
		st.Type, st.Unit = term.Printable(st.Type), term.Printable(st.Unit)
	}
	for _, s := range p.Sample {
		s.Label = printableLabels(s.Label)
	}
}

// hideFiles renames those files that may not be shown, so that -list does not find them. A profile names files as it likes: a
// key of the user's among them. The driver looks for a file by its end, too, in the folders of -source_path.
func hideFiles(p *pprof.Profile) {
	shown := map[string]bool{}
	for _, f := range p.Function {
		may, known := shown[f.Filename]
		if !known {
			may = f.Filename == "" || f.Filename[0] == '<' || // <autogenerated>
				foreign.MayShow(f.Filename)
			shown[f.Filename] = may
		}
		if !may {
			f.Filename += " (not a source file)"
		}
	}
}

// printableLabels makes a copy only where it must: samples with equal labels share theirs.
func printableLabels(labels map[string][]string) map[string][]string {
	for key, values := range labels {
		printable := slices.Clone(values)
		for i, v := range values {
			printable[i] = term.Printable(v)
		}
		if name := term.Printable(key); name != key || !slices.Equal(printable, values) {
			labels = with(without(labels, key), name, printable)
		}
	}
	return labels
}

// labelFiles labels the samples of several files with the file's name: -tagroot=file then puts a frame for each below the root.
func labelFiles(files []string, profiles []*pprof.Profile) {
	bases := map[string]int{}
	for _, file := range files {
		bases[filepath.Base(file)]++
	}
	for i, file := range files {
		if base := filepath.Base(file); bases[base] == 1 {
			file = base
		}
		for _, s := range profiles[i].Sample {
			s.Label = with(s.Label, "file", []string{file})
		}
	}
}

// align gives all profiles all sample types. The driver would keep the ones that every profile has: a rank that
// timed nothing on its CPU would take cpu_time from all others.
func align(profiles []*pprof.Profile) {
	var all []*pprof.ValueType
	for _, p := range profiles {
		for _, st := range p.SampleType {
			if !slices.ContainsFunc(all, func(o *pprof.ValueType) bool { return o.Type == st.Type }) {
				all = append(all, st)
			}
		}
	}
	for _, p := range profiles {
		p.PeriodType, p.Period = profiles[0].PeriodType, profiles[0].Period
		if len(p.SampleType) != len(all) {
			extend(p, all)
		}
	}
}

func extend(p *pprof.Profile, all []*pprof.ValueType) {
	from := make([]int, len(all))
	types := make([]*pprof.ValueType, len(all))
	for i, st := range all {
		types[i] = &pprof.ValueType{Type: st.Type, Unit: st.Unit}
		from[i] = slices.IndexFunc(p.SampleType, func(o *pprof.ValueType) bool { return o.Type == st.Type })
		if from[i] >= 0 {
			types[i].Unit = p.SampleType[from[i]].Unit
		}
	}
	for _, s := range p.Sample {
		values := make([]int64, len(all))
		for i, at := range from {
			if at >= 0 {
				values[i] = s.Value[at]
			}
		}
		s.Value = values
	}
	p.SampleType = types
}

// isProgram reports whether a file is an executable, by its first bytes as the driver does.
func isProgram(file string) bool {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() { // a pipe can be read once
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil {
		return false
	}
	return slices.ContainsFunc([]string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"}, func(magic string) bool {
		return strings.HasPrefix(string(head), magic)
	})
}

// wantsBinaries matches flags that look into programs.
var wantsBinaries = regexp.MustCompile(`^--?(disasm|symbolize|tools|buildid)(=|$)`)

// binaries returns the tool with which the driver opens programs. It opens none unless the command line names a program or
// asks for one: the driver would search for a dozen tools and start some of them, which takes 20 ms or more for each
// call, although profiles of kernels and Python hold no program.
func binaries(args []string) driver.ObjTool {
	wanted := slices.ContainsFunc(args, func(arg string) bool {
		return wantsBinaries.MatchString(arg) || arg != "" && arg[0] != '-' && isProgram(arg)
	})
	if wanted {
		return nil // the driver's own
	}
	return noBinaries{}
}

type noBinaries struct{}

func (noBinaries) Open(file string, _, _, _ uint64, _ string) (driver.ObjFile, error) {
	return nil, fmt.Errorf("open %s: machine code is read only of a program given before the profile: proton pprof PROGRAM FILE", file)
}

func (noBinaries) Disasm(file string, _, _ uint64, _ bool) ([]driver.Inst, error) {
	return nil, errors.New("disassemble " + file + ": no program is given; write proton pprof PROGRAM FILE")
}
