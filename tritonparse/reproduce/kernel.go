package reproduce

import (
	"errors"
	"fmt"
	"strings"
)

// kernelCode is the part of a script that has the kernel. It binds imported_kernel_function, and uses nothing that follows it in
// a template: in TritonParse's it comes before the functions that build arguments.
type kernelCode struct {
	sysPath string // for the modules that the kernel's one imports
	code    string
	options []option // of the launch, in addition to the kernel's arguments

	compilation string // Python that compiles the kernel, of one whose compilation failed
}

// option is one of the compiler's, by its name for a launch.
type option struct{ name, value string }

// findKernel finds the kernel, with its autotuner if that is to be kept.
func (w *work) findKernel() error {
	w.kernel.options = w.compileOptions()
	if err := w.getKernel(); err != nil || !w.PreserveAutotune {
		return err
	}
	grids, err := w.tunedGrids()
	w.kernel.code += "\n\n" + embedded("python/autotune.py") + "\n\n" + grids
	return err
}

// getKernel uses the selected way to get the kernel, or the first that works.
func (w *work) getKernel() error {
	w.result.Import = w.Import
	switch w.Import {
	case ImportAuto:
		return w.findWhateverWorks()
	case ImportDefault:
		w.result.Why = "asked for"
		if w.isInFunction() {
			w.note("%s is defined within a function and cannot be imported from its file: the script has its source instead", w.source.name)
			w.result.Import = ImportCopy
			return w.copyKernel(true)
		}
		return w.importKernel()
	case ImportCopy:
		w.result.Why = "asked for"
		return w.copyKernel(true)
	case ImportOverride:
		w.result.Why = "asked for"
		return w.overrideKernel()
	}
	return fmt.Errorf("unknown way %q to get a kernel; use %s", w.Import, joinImports())
}

// isInFunction reports whether the kernel is defined within a function, which its file's module then has no name for.
func (w *work) isInFunction() bool {
	if x := w.built.Extra; x != nil && x.Qualname != "" {
		return strings.Contains(x.Qualname, "<locals>")
	}
	name, problem := w.original()
	return w.source != nil && problem != nil && name == w.source.name && errors.Is(problem, errInFunction)
}

func joinImports() string {
	var names []string
	for _, i := range Imports {
		names = append(names, string(i))
	}
	return strings.Join(names, ", ")
}

// findWhateverWorks prefers a copy, with which the script is complete and can be edited.
func (w *work) findWhateverWorks() error {
	copied := w.copyKernel(false)
	if copied == nil {
		w.result.Import = ImportCopy
		return nil
	}
	w.result.Import, w.result.Why = ImportDefault, copied.Error()
	_, imported := w.original()
	if imported == nil {
		return w.importKernel()
	}
	if !w.PreserveAutotune && !w.failed {
		w.result.Import, w.result.Why = ImportOverride, fmt.Sprintf("%v; %v", copied, imported)
		overridden := w.overrideKernel()
		if overridden == nil {
			return nil
		}
		return errors.Join(copied, imported, overridden)
	}
	return errors.Join(copied, imported)
}
