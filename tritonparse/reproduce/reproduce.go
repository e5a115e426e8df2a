// Package reproduce writes Python scripts that repeat one launch of a TritonParse trace: the kernel as it was compiled, with the
// recorded arguments. Generate writes a folder with the script, which needs only torch and triton, and with its files.
package reproduce

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/nearby"
)

// Options of Generate.
type Options struct {
	OutDir           string
	Template         string // example, tritonbench, benchmark, or a file's name
	Import           Import
	Embed            bool // everything in one file
	PreserveAutotune bool
	Stamp            string // ends the files' names; "" for none
	Force            bool   // replace files that exist
	Seed             int64
	IntRange         [2]int64 // of random integers; both 0 for a guess
	MostMemory       int64    // of the tensors of a launch together, for ReadInputs; 0 is 16 GiB
	Flops            float64  // of the launch; 0 for those counted in its TTIR
	Python           string   // interpreter that reads the original source files
	Command          string   // that writes the script, for its first lines
	Version          string   // of GoProton
	Replacers        []Replacer
	FilesFrom        []string // folders whose files may be read because the trace names them, in addition to the trace's
}

// Import is the way in which a script gets the kernel.
type Import string

// The ways to get the kernel.
const (
	ImportAuto     Import = ""              // whichever works: copy, else default, else override-ttir
	ImportDefault  Import = "default"       // imports the original source file
	ImportCopy     Import = "copy"          // has the source in the script
	ImportOverride Import = "override-ttir" // compiles the recorded TTIR instead of any source
)

// Imports are the ways that a user can select.
var Imports = []Import{ImportDefault, ImportCopy, ImportOverride}

// Result says what was written, and how the script gets kernel and arguments.
type Result struct {
	Kernel    string            `json:"kernel"`
	Script    string            `json:"repro_script"`
	Context   string            `json:"repro_context,omitempty"` // "" if it is in the script
	IRs       string            `json:"captured_irs,omitempty"`
	Launch    tritonparse.Place `json:"launch"`
	Chosen    string            `json:"chosen,omitempty"` // why it is this launch, for the caller to set
	Hash      string            `json:"hash,omitempty"`
	Grid      []int             `json:"grid"`
	Template  string            `json:"template"`
	Import    Import            `json:"kernel_import"`
	Why       string            `json:"why"` // the kernel is got in that way
	Arguments []Rebuilt         `json:"arguments"`
	Expected  []Expected        `json:"expected,omitempty"`
	Error     string            `json:"error,omitempty"` // that ended the compilation
	Notes     []string          `json:"notes,omitempty"`
}

// work is one reproducer being made.
type work struct {
	Options
	trace   *tritonparse.Trace
	launch  *tritonparse.LaunchRecord
	built   *tritonparse.Compilation
	source  *function // nil without Python source
	params  []param
	folder  string
	context []byte
	result  *Result
	blobs   []blob
	kernel  kernelCode
	plan    plan
	failed  bool            // its compilation failed: it is compiled again, and not launched
	own     map[string]bool // see scriptNames
}

func (w *work) note(format string, args ...any) {
	w.result.Notes = append(w.result.Notes, fmt.Sprintf(format, args...))
}

// Generate writes the reproducer of a launch. l must stay valid, as that of Pick does.
func Generate(t *tritonparse.Trace, l *tritonparse.LaunchRecord, o Options) (*Result, error) {
	w := &work{Options: o, trace: t, launch: l, result: &Result{Launch: l.Place(), Hash: l.Hash, Grid: l.Grid}}
	if w.Template == "" {
		w.Template = "example"
	}
	w.result.Template = w.Template
	for _, step := range []func() error{w.findCompilation, w.checkLaunch, w.readSource, w.checkNames, w.findKernel, w.findExpected, w.rebuildArguments, w.write} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return w.result, nil
}

// findCompilation looks the compilation up by the launch's hash, or by the kernel's name if the launch has no hash.
func (w *work) findCompilation() error {
	l := w.launch
	w.result.Kernel = l.Name
	if l.Hash != "" {
		if w.built = w.trace.Compilation(l.Hash); w.built != nil && !w.built.Inferred {
			return nil
		}
		return fmt.Errorf("%s has no compilation of %s with the hash %s; trace from the program's start, so that compilations are recorded", w.trace.Source, l.Name, l.Hash)
	}
	for _, c := range w.trace.Compilations() {
		if c.Name == l.Name && !c.Inferred {
			w.built = c
			w.note("the launch does not say which compilation it ran; this is the first of that name, %s", short(c.Hash))
			return nil
		}
	}
	return fmt.Errorf("%s has no compilation of %s, and the launch does not say its hash; trace from the program's start, so that compilations are recorded", w.trace.Source, l.Name)
}

// checkLaunch refuses launches whose arguments or grid were not recorded.
func (w *work) checkLaunch() error {
	l := w.launch
	where := fmt.Sprintf("record %d of %s", l.Line, l.File)
	switch {
	case len(l.Args) == 0 && l.Note != "":
		return fmt.Errorf("%s was launched while a CUDA graph was captured, and its arguments were not recorded (%s); take a launch outside of the capture, such as one of the warm-up: %s", where, l.Note, w.others())
	case len(l.Args) == 0 && len(l.InductorArgs) == 0:
		return fmt.Errorf("%s has no arguments: the hook that records them did not run; for torch.compile's kernels set TORCHINDUCTOR_RUN_JIT_POST_COMPILE_HOOK=1 before tracing. Another launch may have them: %s", where, w.others())
	case len(l.Grid) == 0:
		return fmt.Errorf("%s has no grid; %s", where, w.others())
	}
	return nil
}

// others is the command that lists other launches of the kernel.
func (w *work) others() string {
	return fmt.Sprintf("proton trace info %s --kernel %s --args", w.launch.File, w.launch.Name)
}

func short(hash string) string { return hash[:min(12, len(hash))] }

// readSource finds the kernel's function and parameters in its Python source.
func (w *work) readSource() error {
	if p := w.built.Python; p != nil && p.Code != "" {
		name := w.built.Name
		if w.built.Extra != nil && w.built.Extra.Function != "" {
			name = w.built.Extra.Function
		}
		w.source = findFunction(p.Code, name, p.FunctionStart-p.Start+1)
	}
	if w.source != nil {
		w.params = w.source.params
		if w.source.name != w.built.Name {
			w.note("the kernel is called %s; its source, %s", w.built.Name, w.source.name)
		}
		return nil
	}
	// Without source the arguments of the launch are the parameters. The compiler knew some of them as constants.
	constants := constantsOf(w.built)
	for i, a := range w.arguments() {
		_, constant := constants[i]
		w.params = append(w.params, param{name: a.Name, constexpr: constant})
	}
	return nil
}

// arguments returns those of the launch, or those that Inductor's hook recorded if Triton's did not.
func (w *work) arguments() []tritonparse.Argument {
	if len(w.launch.Args) > 0 {
		return w.launch.Args
	}
	return w.launch.InductorArgs
}

// write puts everything into its folder.
func (w *work) write() error {
	w.folder = filepath.Join(w.OutDir, foreign.FileName(w.result.Kernel))
	stem := fmt.Sprintf("repro_line%d", w.launch.Line)
	if files := w.trace.Files; len(files) > 1 { // each counts its lines from 0
		stem = fmt.Sprintf("repro_file%d_line%d", slices.Index(files, w.launch.File)+1, w.launch.Line)
	}
	kind := strings.TrimSuffix(filepath.Base(w.Template), ".py")
	script := stem
	if kind != "example" && kind != "compile" {
		script += "_" + foreign.FileName(kind)
	}
	stamp := ""
	if w.Stamp != "" {
		stamp = "_" + foreign.FileName(w.Stamp)
	}
	w.result.Script = filepath.Join(w.folder, script+stamp+".py")
	if !w.Embed && !w.failed {
		w.result.Context = filepath.Join(w.folder, stem+"_context"+stamp+".json")
	}
	if _, err := os.Lstat(w.result.Script); err == nil && !w.Force {
		return fmt.Errorf("%s exists; give --force to replace it, or another --out-dir", w.result.Script)
	}
	if !w.failed {
		w.makeContext()
	}
	text, err := w.render()
	if err != nil {
		return err
	}
	out, err := nearby.Open(w.OutDir)
	if err != nil {
		return err
	}
	defer out.Close()
	return errors.Join(w.writeIRs(out), w.writeBlobs(out), w.writeContext(out), out.WriteText(w.below(w.result.Script), 0o777, text))
}

// below is a path in the output folder as that folder names it.
func (w *work) below(path string) string {
	return filepath.Base(w.folder) + filepath.ToSlash(strings.TrimPrefix(path, w.folder))
}

func (w *work) writeContext(out *nearby.Folder) error {
	if w.result.Context == "" {
		return nil
	}
	return out.WriteText(w.below(w.result.Context), 0o666, w.context)
}

// irFolder is named after the hash, because the texts of two compilations of one kernel have the same names.
func (w *work) irFolder() string { return "captured_irs/" + short(foreign.FileName(w.built.Hash)) }

// writeIRs writes the representations of the kernel.
func (w *work) writeIRs(out *nearby.Folder) error {
	if w.Embed || len(w.built.Texts) == 0 {
		return nil
	}
	w.result.IRs = filepath.Join(w.folder, filepath.FromSlash(w.irFolder()))
	for stage, text := range w.built.Texts {
		if err := out.WriteText(w.below(w.result.IRs)+"/"+foreign.FileName(w.built.TextNames[stage]), 0o666, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}
