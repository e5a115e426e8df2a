package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse/record"
)

// traceFlags are the flags of "proton run" that concern the TritonParse trace.
type traceFlags struct {
	runinfo.Trace
	limit, quota string
	flags        *pflag.FlagSet
	others       []*pflag.Flag // that mean nothing without --trace
}

func (t *traceFlags) add(flags *pflag.FlagSet) {
	t.flags = flags
	flags.StringVar(&t.Folder, "trace", "", "write a TritonParse trace of what Triton compiles and launches into the folder `DIR`, next to the profile")
	flags.StringVar(&t.Launches, "trace-launches", "all", "trace `WHICH` launches: all, profiled (while torch.profiler or a session records), none")
	flags.StringVar(&t.Compression, "trace-compression", "zstd", "`FORMAT` of trace files: zstd, gzip, none")
	flags.StringVar(&t.Kernels, "trace-kernels", "", "trace kernels whose names match `PATTERNS`, separated by commas (default: all)")
	flags.BoolVar(&t.SASS, "trace-sass", false, "disassemble compiled kernels with nvdisasm")
	flags.BoolVar(&t.FullSource, "trace-source", false, "store the whole source file of a kernel, not its function alone")
	flags.BoolVar(&t.Statistics, "trace-statistics", false, "record minimum, maximum, mean and deviation of each tensor; every launch waits for the GPU")
	flags.BoolVar(&t.Tensors, "trace-tensors", false, "store the data of tensors; every launch waits for the GPU")
	flags.StringVar(&t.limit, "trace-tensor-limit", "10G", "store no tensor of more than `SIZE`")
	flags.StringVar(&t.quota, "trace-tensor-quota", "100G", "store no more than `SIZE` in each process")
	flags.IntVar(&t.TensorSkip, "trace-tensor-skip", 0, "store no tensors of the first `N` launches of each compilation")
	flags.IntVar(&t.TensorMax, "trace-tensor-max", 0, "store tensors of `N` launches of each compilation; 0 for all")
	flags.VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, "trace-") {
			t.others = append(t.others, f)
		}
	})
}

// apply checks the flags and adds the trace to the options.
func (t *traceFlags) apply(options *run.Options) error {
	if t.Folder == "" {
		for _, f := range t.others {
			if f.Changed {
				return fmt.Errorf("--%s needs --trace DIR", f.Name)
			}
		}
		return nil
	}
	if options.Backend == "replay" {
		return errors.New("--trace needs a program: a replay runs no Triton; leave out --trace, or give the program that was recorded")
	}
	if err := t.readVariables(); err != nil {
		return err
	}
	for _, choice := range []struct {
		option, value string
		known         []string
	}{
		{"launches", t.Launches, []string{"all", "profiled", "none"}},
		{"compression", t.Compression, []string{"zstd", "gzip", "none"}},
	} {
		if !slices.Contains(choice.known, choice.value) {
			return fmt.Errorf("read the option %s of --trace %q: use %s", choice.option, choice.value, strings.Join(choice.known, ", "))
		}
	}
	var err error
	if t.TensorLimit, err = parseSize(t.limit); err != nil {
		return fmt.Errorf("the option tensor-limit of --trace: %w", err)
	}
	if t.TensorQuota, err = parseSize(t.quota); err != nil {
		return fmt.Errorf("the option tensor-quota of --trace: %w", err)
	}
	if t.TensorSkip < 0 || t.TensorMax < 0 {
		return errors.New("the options tensor-skip and tensor-max of --trace are numbers of launches: give 0 or more")
	}
	if info, err := os.Stat(t.Folder); err == nil && !info.IsDir() {
		return fmt.Errorf("--trace %s: this is a file; give a folder for traces", t.Folder)
	}
	shown := t.Folder
	if t.Folder, err = filepath.Abs(shown); err != nil {
		return fmt.Errorf("--trace %s: %w", shown, err)
	}
	t.Name = shown
	options.Trace = &t.Trace
	options.AfterTarget = func(status string) { reportTrace(toUser(), t.Folder, shown, status) }
	return nil
}

// variableFlags are the flags of arguments that a variable may give, where their name is another.
var variableFlags = map[string]string{"full_source": "source"}

// readVariables sets the flags that are not given to what TritonParse's variables say.
func (t *traceFlags) readVariables() error {
	given, remarks := record.FromVariables(os.Getenv)
	for _, remark := range remarks {
		tell(toUser(), "warning: trace: %s", remark)
	}
	for name, value := range given {
		if other, ok := variableFlags[name]; ok {
			name = other
		}
		flag := t.flags.Lookup("trace-" + strings.ReplaceAll(name, "_", "-"))
		if flag.Changed {
			continue
		}
		if err := flag.Value.Set(fmt.Sprint(value)); err != nil {
			return fmt.Errorf("--%s: %w", flag.Name, err)
		}
	}
	return nil
}

func parseSize(text string) (int64, error) {
	n, ok := settings.Size(text)
	if !ok {
		return 0, fmt.Errorf("%q is not a size: give a number of bytes, such as 512M or 10G", text)
	}
	return n, nil
}

// reportTrace completes the traces of processes that could not, and reports what was traced.
func reportTrace(w io.Writer, folder, shown, status string) {
	found, err := record.Recover(folder)
	if err != nil {
		found.Problems = append(found.Problems, err.Error())
	}
	sum, err := record.ReadSummary(status)
	if err != nil {
		found.Problems = append(found.Problems, err.Error())
	}
	problems := append(found.Problems, sum.Problems...)
	line := traceLine(sum, shown)
	if sum.Empty() && len(problems) > 0 {
		line, problems = "nothing was traced: "+problems[0], problems[1:]
	}
	for _, problem := range problems {
		fmt.Fprintf(w, "proton: warning: trace: %s\n", problem)
	}
	fmt.Fprintf(w, "proton: %s\n", line)
	listFiles(w, folder, sum.Files)
}

// listFiles prints the files of a folder with their sizes, the first of many.
func listFiles(w io.Writer, folder string, names []string) {
	const most = 8
	slices.SortFunc(names, figures.Natural)
	t := term.NewTable(w)
	var rest int64
	for i, name := range names {
		size := int64(0)
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil {
			size = info.Size()
		}
		if i < most {
			t.Row("proton:", name, figures.Bytes.Text(float64(size)))
		} else {
			rest += size
		}
	}
	if more := len(names) - most; more > 0 {
		t.Row("proton:", fmt.Sprintf("and %d more", more), figures.Bytes.Text(float64(rest)))
	}
	_ = t.Flush()
}

// completeTraces completes the traces of killed processes in a folder before it is read.
func completeTraces(w io.Writer, source string) {
	info, err := os.Stat(source)
	if err != nil {
		return // who reads it says so
	}
	if !info.IsDir() {
		source = filepath.Dir(source)
	}
	found, err := record.Recover(source)
	if err != nil {
		found.Problems = append(found.Problems, err.Error())
	}
	for _, problem := range found.Problems {
		fmt.Fprintf(w, "proton: warning: %s\n", problem)
	}
	if found.Processes > 0 {
		lost := ""
		if found.Lost > 0 {
			lost = fmt.Sprintf(", %d lost", found.Lost)
		}
		fmt.Fprintf(w, "proton: completed the traces of %s in %s that ended without it: %s, %s%s\n", figures.Count(found.Processes, "process"),
			source, figures.Count(found.Compilations, "compilation"), figures.Count(found.Launches, "launch"), lost)
	}
}

func traceLine(sum record.Summary, shown string) string {
	switch {
	case sum.Processes == 0:
		return "nothing was traced: no process of the target began a trace; does it import Triton 3.4 or newer?"
	case sum.Empty():
		return "nothing was traced: Triton was imported, and compiled and launched nothing that was asked for"
	}
	parts := []string{figures.Count(sum.Compilations, "compilation"), figures.Count(sum.Launches, "launch")}
	if sum.Autotunes > 0 {
		parts = append(parts, figures.Count(sum.Autotunes, "autotune result"))
	}
	if sum.Lost > 0 {
		parts = append(parts, strconv.FormatInt(sum.Lost, 10)+" lost")
	}
	if sum.Processes > 1 {
		parts = append(parts, strconv.Itoa(sum.Processes)+" processes")
	}
	return fmt.Sprintf("traced %s; wrote %s; view: proton trace info %s", strings.Join(parts, ", "), shown, shown)
}
