package explain

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/lookup"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/nearby"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/kernels"
)

// kernelSum adds up one compilation of a kernel, or all of a name if compilations are not known.
type kernelSum struct {
	name     string // as recorded
	nanos    float64
	launches float64
	least    float64 // ns at the roof, of what has known work
	known    float64 // ns of that
	compute  float64 // ns of it that is limited by arithmetic
	longest  float64 // ns of the row whose settings stand below
	settings map[string]string

	function *kernels.Function
	special  *kernels.Specialisation
	counted  map[*counters.Figure][2]float64 // figures of hardware counters: what stands above and below the fraction line
	declared float64                         // bytes, where others were measured
	moved    float64                         // those
	samples  map[string][2]float64           // by reason: samples, and those in which nothing was issued
	all      float64
}

// kernelKey is a function with samples, else a compilation, else a name.
type kernelKey struct {
	function int // -1 for none
	hash     string
	name     string
}

// kernels makes a subject of each kernel.
func (s *survey) kernels() error {
	matches, err := lookup.Kernels(s.Kernel)
	if err != nil {
		return &viewer.OptionError{Err: err}
	}
	run, err := s.collect()
	if err != nil {
		return err
	}
	matched := false
	for _, k := range s.sums(run) {
		on := s.kernel(k, run)
		if s.Kernel != "" && !matches(on.kernel) && !matches(k.name) {
			continue
		}
		matched, on.asked = true, s.Kernel != ""
		s.subjects = append(s.subjects, on)
	}
	if s.Kernel != "" {
		if !matched {
			return &kernels.NoMatchError{What: "time", Pattern: s.Kernel, Most: strings.Join(s.longest(3), ", ")}
		}
		s.subjects = slices.DeleteFunc(s.subjects, func(on *subject) bool { return on.kind != kernelKind })
	}
	s.noteMissing(run)
	return nil
}

// collect gathers the samples and the trace's facts of all kernels; nil if there are none.
func (s *survey) collect() (*kernels.Run, error) {
	o := kernels.Options{Profile: s.Profile, Trace: s.Trace, Files: s.Files, Modules: s.Modules, Kernel: cmp.Or(s.Kernel, "*"), Measured: true}
	run, err := kernels.Collect(o) // of others than the asked one no launch is run
	if err != nil && o.Kernel != "*" {
		o.Kernel = "*" // names in the profile may be others
		run, err = kernels.Collect(o)
	}
	switch {
	case errors.As(err, new(*kernels.TraceError)):
		return nil, err
	case err != nil:
		return nil, nil //nolint:nilerr // a profile without samples and without a trace has facts too
	}
	return run, nil
}

// sums adds up the time of kernels.
func (s *survey) sums(run *kernels.Run) []*kernelSum {
	by := map[kernelKey]*kernelSum{}
	var order []*kernelSum
	at := func(k kernelKey, name string) *kernelSum {
		sum := by[k]
		if sum == nil {
			sum = &kernelSum{name: name, samples: map[string][2]float64{}, counted: map[*counters.Figure][2]float64{}}
			by[k], order = sum, append(order, sum)
		}
		return sum
	}
	for _, row := range s.rows {
		if !row.kernel {
			continue
		}
		name := row.name
		switch node := row.node; {
		case s.Profile.Sampling != nil && slices.ContainsFunc(node.Samples, func(f profile.FunctionSamples) bool { return s.Profile.Sampling.In(&f) > 0 }):
			s.sampledRow(row, at)
		case len(node.Launches) > 0 && run != nil && run.Traced():
			for _, l := range node.Launches {
				if l.Kind >= 0 && l.Kind < len(s.Profile.Launches) && row.nanos > 0 {
					kind := &s.Profile.Launches[l.Kind]
					at(kernelKey{-1, kind.Hash, kind.Kernel}, kind.Kernel).add(row, float64(l.Nanos)/row.nanos)
				}
			}
		default:
			at(kernelKey{-1, "", name}, name).add(row, 1)
		}
	}
	s.link(run, by)
	slices.SortStableFunc(order, func(a, b *kernelSum) int { return cmp.Compare(b.nanos, a.nanos) })
	return order
}

// add adds a part of a row.
func (k *kernelSum) add(row *row, part float64) {
	nanos := row.nanos * part
	k.nanos += nanos
	k.launches += row.count * part
	if !math.IsNaN(row.least) {
		k.least, k.known = k.least+row.least*part, k.known+nanos
		if row.bound == "compute" {
			k.compute += nanos
		}
	}
	k.count(row, part)
	if nanos > k.longest {
		k.longest, k.settings = nanos, viewer.Settings(row.name)
	}
}

// count adds what hardware counters measured of a part of a row.
func (k *kernelSum) count(row *row, part float64) {
	if math.IsNaN(counters.Stands(row.node)) {
		return
	}
	for i := range counters.Figures {
		f := &counters.Figures[i]
		above, below := f.At(row.node)
		if math.IsNaN(above) {
			continue
		}
		if len(f.Forms[0].Below) == 0 {
			below = row.count // an amount for each launch
		}
		sum := k.counted[f]
		k.counted[f] = [2]float64{sum[0] + above*part, sum[1] + below*part}
		if f == dramBytes && row.beyond > 0 {
			k.moved, k.declared = k.moved+above*part, k.declared+above/row.beyond*part
		}
	}
}

var dramBytes, loadEfficiency, instructions = counters.Find("dram_bytes"), counters.Find("load_efficiency"), counters.Find("instructions")

// counted sets what hardware counters say of a kernel.
func (on *subject) counted(k *kernelSum, device *profile.Device) {
	set := on.numbers
	tensor, flops := 0.0, 0.0
	for f, v := range k.counted {
		if f.Unit == counters.Flops {
			flops += v[0]
			if strings.HasPrefix(f.Name, "tensor_") {
				tensor += v[0]
			}
		}
		if v[1] > 0 {
			set[numberOf(f)] = v[0] / v[1]
		}
	}
	if flops > 0 {
		set["tensor_flops_share"] = tensor / flops
	}
	if k.declared > 0 {
		set["dram_bytes_over_declared"], set["bytes_beyond_declared_share"] = k.moved/k.declared, 1-k.declared/k.moved
	}
	for share, rest := range map[string]string{"load_efficiency_share": "unused_load_bytes_share", "store_efficiency_share": "unused_store_bytes_share"} {
		if v, known := set[share]; known {
			set[rest] = 1 - v
		}
	}
	if loaded, ran := k.counted[loadEfficiency][1], k.counted[instructions][0]; loaded > 0 && ran > 0 {
		const sector = 32 // bytes
		set["load_sectors_per_instruction"] = loaded / sector / ran
	}
	if conflicts := set["bank_conflicts_per_launch"]; conflicts > 0 && device != nil && device.NumSMs > 0 && device.ClockRate > 0 {
		set["conflict_time_share"] = min(1, conflicts/(float64(device.NumSMs)*float64(device.ClockRate)*1e-6*set["mean_time_ns"]))
	}
	if possible := set["occupancy_share"]; possible > 0 && set["achieved_occupancy_share"] > 0 {
		set["achieved_of_possible_share"] = set["achieved_occupancy_share"] / possible
		set["missing_warps_share"] = 1 - set["achieved_of_possible_share"]
	}
}

// numberOf is the name of a figure among the numbers of a subject, which have their units in their names.
func numberOf(f *counters.Figure) string {
	switch {
	case f.Unit == counters.Share && !strings.HasSuffix(f.Name, "_share"):
		return f.Name + "_share"
	case f.Unit == counters.Share || f.Unit == counters.Ratio:
		return f.Name
	}
	return f.Name + "_per_launch"
}

// sampledRow divides a row among the functions that its samples are in.
func (s *survey) sampledRow(row *row, at func(kernelKey, string) *kernelSum) {
	all, facts := 0.0, s.Profile.Sampling
	counts := make([]float64, len(row.node.Samples))
	for i, f := range row.node.Samples {
		counts[i] = float64(facts.In(&f))
		all += counts[i]
	}
	for i, f := range row.node.Samples {
		if f.Function < 0 || f.Function >= len(facts.Functions) || counts[i] == 0 {
			continue
		}
		sum := at(kernelKey{function: f.Function}, facts.Functions[f.Function].Name)
		sum.add(row, counts[i]/all)
		for _, pc := range f.PCs {
			for _, stall := range pc.Stalls {
				reason := "unknown"
				if int(stall.Reason) < len(facts.Reasons) {
					reason = facts.Reasons[stall.Reason]
				}
				if profile.IsCount(reason) {
					continue
				}
				c := sum.samples[reason]
				sum.samples[reason] = [2]float64{c[0] + float64(stall.Samples), c[1] + float64(stall.NotIssued)}
				sum.all += float64(stall.Samples)
			}
		}
	}
}

// link finds what the samples and the trace have of each kernel. Profiles with frames for lines have functions by name only.
func (s *survey) link(run *kernels.Run, by map[kernelKey]*kernelSum) {
	if run == nil {
		return
	}
	specials := map[string]*kernels.Specialisation{}
	for _, k := range append(slices.Clone(run.Kernels), run.Others...) {
		for _, one := range k.Specialisations {
			if specials[one.Hash] = one; len(k.Specialisations) == 1 {
				specials["only "+k.Name] = one
			}
		}
	}
	functions := map[string]*kernels.Function{}
	bySymbol := map[*profile.SampledFunction]*kernels.Function{}
	if run.Samples != nil {
		for _, f := range run.Samples.AllFunctions() {
			functions[f.Symbol.Name], bySymbol[f.Symbol] = f, f
		}
	}
	for key, sum := range by {
		hash := key.hash
		switch f := functions[sum.name]; {
		case key.function >= 0 && s.Profile.Sampling != nil && len(s.Profile.Sampling.Functions) > key.function && key.name == "" && sum.all > 0:
			sum.function = bySymbol[&s.Profile.Sampling.Functions[key.function]]
		case f != nil:
			sum.sampledIn(f, run.Samples.Reasons)
		}
		if sum.function != nil && sum.function.Compiled() != nil && hash == "" {
			hash = sum.function.Compiled().Hash()
		}
		sum.special = cmp.Or(specials[hash], specials["only "+tritonparse.KernelOfFrame(sum.name)])
	}
}

// sampledIn takes the samples of a function, of which it is not known whether others were issued meanwhile.
func (k *kernelSum) sampledIn(f *kernels.Function, reasons []string) {
	k.function = f
	for i, n := range f.Reasons {
		k.samples[reasons[i]] = [2]float64{float64(n), float64(n)}
		k.all += float64(n)
	}
}

// kernel is the subject of a kernel.
func (s *survey) kernel(k *kernelSum, run *kernels.Run) *subject {
	on := newSubject(kernelKind, k.nanos, s.total)
	name := tritonparse.KernelOfFrame(k.name)
	if k.function == nil && len(k.settings) > 0 {
		name = viewer.WithoutSettings(k.name)
	}
	on.kernel = shortened(s.label(name))
	on.pattern = regexp.QuoteMeta(beforeAny(s.label(name), "<("))
	set := on.numbers
	set["gpu_time_share"], set["launches"] = k.nanos/s.total, k.launches
	if k.launches > 0 {
		set["mean_time_ns"] = k.nanos / k.launches
	}
	if k.known > k.nanos/2 {
		set["roof_share"] = k.least / k.known
		set["memory_bound"] = figures.OneIf[float64](k.compute < k.known/2)
	}
	set["library_kernel"] = figures.OneIf[float64](vendors.IsLibrary(k.name))
	if fullPrecision.MatchString(k.name) {
		on.multipliesIn32(s.device())
	}
	for setting, number := range map[string]string{"warps": "warps_per_block", "num_warps": "warps_per_block", "stages": "pipeline_stages", "num_stages": "pipeline_stages"} {
		if v, err := strconv.ParseFloat(k.settings[setting], 64); err == nil {
			set[number] = v
		}
	}
	blocks := product(strings.Split(k.settings["grid"], "x"))
	shared := atoi(k.settings["shared"])
	if k.special != nil {
		blocks, shared = on.traced(k.special, s.device(), blocks, shared)
	}
	if k.function != nil {
		on.sampledAt(k, run, s.Files)
	}
	on.occupancy(k.function, shared)
	on.grid(blocks, s.device())
	on.counted(k, s.device())
	return on
}

// sampledAt sets what the samples of a kernel say.
func (on *subject) sampledAt(k *kernelSum, run *kernels.Run, files *kernels.Files) {
	f, set, samples := k.function, on.numbers, run.Samples
	set["samples"] = k.all
	on.lost = map[string]float64{}
	for reason, n := range k.samples {
		switch reason {
		case samples.Stalls.Issued, samples.Stalls.Ready:
			set["issue_share"] += n[0] / k.all
		case profile.NoReason, "unknown":
		default:
			set[stallName(reason)] = n[0] / k.all
			on.lost[reason] = n[1] / k.all
		}
	}
	if s := f.Symbol; s.Arch != "" {
		set["registers_per_thread"], set["local_memory_bytes_per_thread"] = float64(s.Registers), float64(s.Frame)
		if each := f.Vendor.Code.Instruction; each > 0 && s.Size > 0 {
			set["code_instructions"] = float64(s.Size / each)
			set["local_memory_instruction_share"] = float64(s.LocalLoads+s.LocalStores) / set["code_instructions"]
		}
	}
	waits := newWaits(run, f)
	lineOf := func(reasons []string) *Line { return hottest(f, samples, files, reasons, waits) }
	on.line = lineOf
	queue := []string{"mio_throttle", "short_scoreboard"}
	if on.stalled(queue) < 0.1 {
		return
	}
	if special, global, known := queueShares(run, waits, queue); known {
		set["special_functions_share"], set["global_memory_queue_share"], set["shared_memory_share"] = special, global, 1-special-global
	} else if l := lineOf(queue); l != nil && l.Text != "" {
		set["special_functions_share"] = figures.OneIf[float64](specialFunctions.MatchString(l.Text))
	}
}

// queueShares are the shares of special functions, and of accesses to global memory, among the instructions that wait for the queue that they share
// with shared memory, or that are waited for there.
func queueShares(run *kernels.Run, w *waits, reasons []string) (special, global float64, known bool) {
	if w == nil {
		return 0, 0, false
	}
	var shared float64
	for i := range w.of.PCs {
		pc := &w.of.PCs[i]
		for _, reason := range reasons {
			n := float64(run.Samples.Of(pc.Counts, reason))
			switch text := w.code.Text[w.waitsFor(pc.Offset, reason)]; {
			case n == 0:
			case specialUnit.MatchString(text):
				special += n
			case globalMemory.MatchString(text):
				global += n
			case sharedMemory.MatchString(text):
				shared += n
			}
		}
	}
	all := special + global + shared
	return special / all, global / all, all > 0
}

// hottest is the line with most samples of some stall reasons, or of all; nil if no line is known. Lines of code that was inlined count
// where it was inlined, and waits for a result at the line that it comes from, if the instructions are known.
func hottest(f *kernels.Function, samples *kernels.Samples, files *kernels.Files, reasons []string, w *waits) *Line {
	type place struct {
		file string
		line int
	}
	counts, all := map[place]uint64{}, uint64(0)
	var most place
	for i := range f.PCs {
		pc := &f.PCs[i]
		add := func(offset, n uint64) {
			frames := f.Symbol.At(offset)
			if w != nil {
				frames = w.code.Frames(offset)
			}
			if all += n; n == 0 || len(frames) == 0 {
				return
			}
			at := place{frames[len(frames)-1].File, frames[len(frames)-1].Line}
			if counts[at] += n; counts[at] > counts[most] {
				most = at
			}
		}
		if len(reasons) == 0 {
			add(pc.Offset, pc.Samples)
		}
		for _, reason := range reasons {
			add(w.waitsFor(pc.Offset, reason), samples.Of(pc.Counts, reason))
		}
	}
	if counts[most] == 0 {
		return nil
	}
	line := &Line{File: most.file, Number: most.line, Share: rounded(float64(counts[most]) / float64(all))}
	if files != nil {
		text, _ := files.Text(most.file).Line(most.line)
		line.Text = strings.TrimSpace(text)
	}
	return line
}

// traced sets what the trace has of a compilation and its launches.
func (on *subject) traced(of *kernels.Specialisation, device *profile.Device, blocks, shared float64) (float64, float64) {
	set := on.numbers
	if of.Roof > 0 {
		set["roof_share"], set["memory_bound"] = of.Roof, figures.OneIf[float64](of.Bound == "memory")
	}
	if len(of.Groups) > 0 {
		g := of.Groups[0]
		if blocks == 0 && len(g.Grid) > 0 {
			blocks = 1
			for _, n := range g.Grid {
				blocks *= float64(n)
			}
		}
		if c := of.Compilation; c != nil && strings.Contains(c.Texts["ttir"], "tt.dot") && g.Work.Type == "fp32" && g.Work.Bound == "compute" {
			on.multipliesIn32(device)
		}
	}
	c := of.Compilation
	if c == nil {
		return blocks, shared
	}
	if n, known := c.Int("num_stages"); known {
		set["pipeline_stages"] = float64(n)
	}
	if n, known := c.Int("num_warps"); known {
		set["warps_per_block"] = float64(n)
	}
	r, err := nearby.ResourcesOf(c)
	if r.Shared != nil {
		shared = float64(*r.Shared)
	}
	if err != nil || r.Registers == nil {
		return blocks, shared
	}
	set["registers_per_thread"], set["local_memory_bytes_per_thread"] = float64(*r.Registers), float64(*r.Frame)
	if *r.CodeBytes > 0 {
		if each := vendors.ByTarget(c.Backend).Code.Instruction; each > 0 {
			set["code_instructions"] = float64(*r.CodeBytes) / float64(each)
			set["local_memory_instruction_share"] = float64(*r.LocalLoads+*r.LocalStores) / set["code_instructions"]
		}
	}
	if r.Occupancy != nil {
		on.setOccupancy(*r.Occupancy)
	}
	return blocks, shared
}

// multipliesIn32 sets what fp32 costs a kernel that multiplies matrices.
func (on *subject) multipliesIn32(device *profile.Device) {
	on.numbers["fp32_multiplication"] = 1
	if device == nil {
		return
	}
	slow, err := peaks.Peak(*device, "fp32")
	fast, err2 := peaks.Peak(*device, "tf32")
	if err == nil && err2 == nil && fast > slow {
		on.numbers["tf32_saves_share"] = 1 - slow/fast
	}
}

// occupancy sets how many warps are resident, if the settings of the launch are known and the trace does not say.
func (on *subject) occupancy(f *kernels.Function, shared float64) {
	warps, known := on.numbers["warps_per_block"]
	if _, done := on.numbers["occupancy_share"]; done || !known || f == nil {
		return
	}
	static := float64(f.Symbol.Shared)
	o, ok := vendors.Occupancy(f.Vendor.DeviceType, f.Symbol.Arch, f.Symbol.Registers, int(warps)*f.Vendor.Warp, int(math.Max(shared, static)))
	if ok {
		on.numbers["shared_memory_bytes_per_block"] = math.Max(shared, static)
		on.setOccupancy(o)
	}
}

func (on *subject) setOccupancy(o gpu.Occupancy) {
	on.numbers["occupancy_share"], on.numbers["blocks_per_multiprocessor"] = o.Share(), float64(o.Blocks)
	on.words["limit"] = strings.Join(o.Limits, " and ")
}

// grid sets how much of the GPU the blocks of a launch fill.
func (on *subject) grid(blocks float64, device *profile.Device) {
	if blocks < 1 || device == nil || device.NumSMs < 1 {
		return
	}
	set, places := on.numbers, float64(device.NumSMs)
	set["blocks"], set["multiprocessors"] = blocks, places
	filled := math.Min(1, blocks/places)
	set["filled_multiprocessors_share"], set["idle_multiprocessors_share"] = filled, 1-filled
	if resident := set["blocks_per_multiprocessor"]; resident > 0 && blocks > places {
		waves := blocks / (resident * places)
		set["waves"] = waves
		if whole := math.Ceil(waves); whole > 1 {
			set["last_wave_idle_share"] = (whole - waves) / whole
		}
	}
}

var (
	specialFunctions = regexp.MustCompile(`\b(exp2?|log2?|sqrt(_rn)?|rsqrt|sin|cos|tanh?|erf|sigmoid|softmax|pow|div_rn|fdiv)\b|[^/]/[^/]`)
	fullPrecision    = regexp.MustCompile(`(?i)gemm.*(_ffma_|f32f32_f32f32_f32)|\b(ampere|volta|maxwell|turing|sm\d+)_sgemm|cutlass_\w*simt_sgemm`)
	elementwise      = regexp.MustCompile(`elementwise_kernel`)
	collective       = regexp.MustCompile(`nccl\w*Kernel`)
)

func atoi(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return v
}

// product of the numbers of a grid; 0 if one of them is not a number.
func product(words []string) float64 {
	all := 1.0
	for _, word := range words {
		all *= atoi(word)
	}
	return all
}

func beforeAny(text, chars string) string {
	if i := strings.IndexAny(text, chars); i > 0 {
		return text[:i]
	}
	return text
}

// longestName of a kernel, in characters: names of C++ templates have hundreds.
const longestName = 72

func shortened(name string) string {
	letters := []rune(name)
	if len(letters) <= longestName {
		return name
	}
	return string(letters[:longestName/2]) + "…" + string(letters[len(letters)-longestName/2+1:])
}
