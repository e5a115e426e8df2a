//go:build ignore

// This program prints the orders by which the fake rocprofiler-sdk samples the kernels of kernels.py. Its argument is the folder with
// their code objects and assembly. The samples are computed, not measured, so that they agree with the times in
// replay/fakehip/training.c: every compute unit is sampled each 131,072 cycles of 2.1 GHz, and an instruction has the share of its
// kernel's samples that it has of the time of a wave. A matrix instruction takes the cycles that its flops take at the peak, a vector
// instruction four, and the others are guesses; each counts once for every iteration of its loop. Waits take what is left when the
// limiting part, matrix instructions or waits for memory, has the share of the time that training.c gives it.
package main

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu/hsaco"
)

// kernel has the time of a launch in ns, and the share of it that its limiting part takes.
type kernel struct {
	file, name string
	nanos      float64
	limit      float64
	iterations float64 // of its loop
}

var kernels = []kernel{
	{"matmul", "matmul_kernel", 137438953472. / 1307 / 1000 / 0.62, 0.62, 4096/64 - 1}, // the last iteration stands behind the loop
	{"softmax", "softmax_kernel", 67108864. / 5300 / 0.71, 0.71, 1},
	{"add", "add", 50331648. / 5300 / 0.78, 0.78, 1},
}

// The numbers of the reasons in a sample; 0 stands for an instruction that was issued.
const (
	issued, fetch, alu, wait, internal, barrier, notSelected, busy = 0, 1, 2, 3, 4, 5, 6, 7
)

// class has the cycles that an instruction takes, and the reasons of its samples in percent.
type class struct {
	operation *regexp.Regexp
	cycles    float64
	reasons   map[int]float64
}

var classes = []class{
	{regexp.MustCompile(`^v_mfma_f32_32x32x8`), 32, map[int]float64{issued: 12, busy: 68, alu: 20}},
	{regexp.MustCompile(`^s_waitcnt.* vmcnt`), 0, map[int]float64{internal: 2, wait: 98}}, // its cycles are what is left
	{regexp.MustCompile(`^s_waitcnt`), 64, map[int]float64{internal: 2, wait: 98}},        // for shared memory and scalars; in a loop as above
	{regexp.MustCompile(`^s_barrier`), 40, map[int]float64{issued: 5, barrier: 95}},
	{regexp.MustCompile(`^(global|ds|buffer|s_load)_`), 8, map[int]float64{issued: 25, busy: 65, notSelected: 10}},
	{regexp.MustCompile(`^v_(exp|rcp)_`), 16, map[int]float64{issued: 25, alu: 65, notSelected: 10}},
	{regexp.MustCompile(`^v_`), 4, map[int]float64{issued: 45, alu: 35, notSelected: 20}},
	{regexp.MustCompile(``), 4, map[int]float64{issued: 60, fetch: 20, notSelected: 20}},
}

type instruction struct {
	operation string
	times     float64
	class     *class
	aligned   uint64 // its offset is a multiple of this
}

var (
	labelLine  = regexp.MustCompile(`^(\.LBB\w+):`)
	branchLine = regexp.MustCompile(`^\s+s_c?branch\w* (\.LBB\w+)`)
	alignLine  = regexp.MustCompile(`^\s+\.p2align\s+(\d+)`)
	codeLine   = regexp.MustCompile(`^\s+([a-z]\w+)`)
)

// read returns the instructions of the only function of an assembly, with how often a wave executes each.
func read(assembly string, iterations float64) (all []instruction) {
	labels := map[string]int{}
	aligned := uint64(1)
	for line := range strings.Lines(assembly) {
		if strings.HasPrefix(line, ".Lfunc_end") {
			break
		}
		if m := labelLine.FindStringSubmatch(line); m != nil {
			labels[m[1]] = len(all)
		}
		if m := alignLine.FindStringSubmatch(line); m != nil {
			power, err := strconv.Atoi(m[1])
			check(err)
			aligned = 1 << power
		}
		m := codeLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		at := slices.IndexFunc(classes, func(c class) bool { return c.operation.MatchString(strings.TrimSpace(line)) })
		all = append(all, instruction{m[1], 1, &classes[at], aligned})
		aligned = 1
		if b := branchLine.FindStringSubmatch(line); b != nil {
			if from, back := labels[b[1]]; back {
				for i := from; i < len(all); i++ {
					all[i].times = iterations
				}
			}
		}
	}
	return all
}

// waits reports whether an instruction takes what is left of the time.
func (i instruction) waits() bool {
	return i.operation == "s_waitcnt" && (i.class.cycles == 0 || i.times > 1)
}

// waits is how long such an instruction takes so that the limiting part has its share.
func waits(all []instruction, limit float64) float64 {
	var matrix, waiting, rest float64
	for _, i := range all {
		switch {
		case strings.HasPrefix(i.operation, "v_mfma"):
			matrix += i.times * i.class.cycles
		case i.waits():
			waiting += i.times
		default:
			rest += i.times * i.class.cycles
		}
	}
	if matrix > 0 {
		return (matrix/limit - matrix - rest) / waiting
	}
	return rest * limit / (1 - limit) / waiting
}

type count struct {
	address uint64
	reason  int
	exact   float64
	samples int
}

// shared gives every place its share of n samples, as whole numbers with that sum: what many rare places have together is right.
func shared(counts []count, n int) {
	var sum, so float64
	for _, c := range counts {
		sum += c.exact
	}
	given := 0
	for i := range counts {
		so += counts[i].exact
		counts[i].samples = int(math.Round(so/sum*float64(n))) - given
		given += counts[i].samples
	}
}

func (k kernel) orders(folder string) string {
	image, err := os.ReadFile(folder + "/" + k.file + ".gfx942.hsaco")
	check(err)
	assembly, err := os.ReadFile(folder + "/" + k.file + ".gfx942.amdgcn")
	check(err)
	module, err := hsaco.Open(image)
	check(err)
	symbols, err := hsaco.Symbols(image)
	check(err)
	f, _ := module.Function(uint32(symbols[0].Index), k.name)
	all := read(string(assembly), k.iterations)
	left := waits(all, k.limit)
	var counts []count
	at := 0
	for offset := range f.Offsets {
		if at == len(all) {
			break // what follows s_endpgm fills the cache line
		}
		i := all[at]
		if offset%i.aligned != 0 {
			continue // what fills the gap before it
		}
		cycles := i.class.cycles
		if i.waits() {
			cycles = left
		}
		for reason := range 8 {
			if percent := i.class.reasons[reason]; percent > 0 {
				counts = append(counts, count{address: symbols[0].Address + offset, reason: reason, exact: i.times * cycles * percent})
			}
		}
		at++
	}
	shared(counts, int(304*k.nanos*2.1/(1<<17)))
	text := k.name
	for _, c := range counts {
		if c.samples > 0 {
			text += fmt.Sprintf(" %#x:%d:%d", c.address, c.reason, c.samples)
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %d of %d instructions; a wait takes %.0f cycles\n", k.name, at, len(all), left)
	return text
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	fmt.Println("sampling stochastic")
	fmt.Print("samples")
	for _, k := range kernels {
		fmt.Print(" " + k.orders(os.Args[1]))
	}
	fmt.Println()
}
