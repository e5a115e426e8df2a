package reproduce

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	tracework "github.com/goproton/goproton/tritonparse/internal/work"
)

// compileOptions returns the compiler's options that the launch must repeat.
func (w *work) compileOptions() []option {
	if w.PreserveAutotune {
		return nil
	}
	value := func(name string) string { return string(jsontext.Get(w.built.Metadata, name)) }
	var options []option
	add := func(name, v string) {
		if v == "" || v == "null" || slices.ContainsFunc(w.params, func(p param) bool { return p.name == name }) {
			return
		}
		if text, ok := pythonLiteral([]byte(v)); ok {
			options = append(options, option{name, text})
		}
	}
	warps := value("num_warps")
	if base := value("num_warps_base"); base != "" && base != "null" {
		warps = base
	} else if m := tracework.TTGIRWarps.FindStringSubmatch(w.built.Texts["ttgir"]); m != nil {
		warps = m[1] // as the user gave it; the compiler may have added warps
	}
	add("num_warps", warps)
	add("num_stages", value("num_stages"))
	for _, name := range []string{"maxnreg", "num_ctas", "num_buffers_warp_spec", "num_consumer_groups", "reg_dec_producer", "reg_inc_consumer", "waves_per_eu", "matrix_instr_nonkdim"} {
		if v := value(name); v != "0" && (v != "1" || name == "maxnreg") {
			add(name, v)
		}
	}
	for _, name := range []string{"launch_cooperative_grid", "launch_pdl", "debug"} {
		if value(name) == "true" {
			add(name, "true")
		}
	}
	if value("enable_fp_fusion") == "false" {
		add("enable_fp_fusion", "false")
	}
	return options
}

// invocation is the launch: arguments by position up to the first that is a constant, then by name. Those before *args, and those
// whose names the launching method has itself, can only be given by position.
func (w *work) invocation() string {
	var b strings.Builder
	if n, err := strconv.Atoi(string(jsontext.Get(w.built.Metadata, "global_scratch_size"))); err == nil && n > 0 {
		fmt.Fprintf(&b, "_set_allocator(%s)\n", pythonQuote(w.device()+":0"))
	}
	inOrder := slices.ContainsFunc(w.params, func(p param) bool {
		return p.binds == theRest || slices.Contains([]string{"grid", "warmup", "self"}, p.name)
	})
	if w.PreserveAutotune {
		w.tunedInvocation(&b, inOrder)
		return b.String()
	}
	b.WriteString("compiled = imported_kernel_function[tuple(grid)](\n")
	named := false
	for _, p := range w.params {
		named = named || !w.has(p.name) || !inOrder && (p.constexpr || p.defaults != "") // what comes after one that is missing, too
		if w.has(p.name) {
			b.WriteString("    " + passed(p, p.binds == byName || p.binds == anyway && named) + ",\n")
		}
	}
	for _, o := range w.kernel.options {
		fmt.Fprintf(&b, "    %s=%s,\n", o.name, o.value)
	}
	b.WriteString(")\n")
	return b.String()
}

// passed is Python for the argument of a parameter in a call.
func passed(p param, named bool) string {
	value := "args_dict[" + pythonQuote(p.name) + "]"
	switch {
	case p.binds == theRest:
		return "*" + value
	case named:
		return p.name + "=" + value
	}
	return value
}

// tunedInvocation is the launch through the autotuner, which gives some of the arguments itself.
func (w *work) tunedInvocation(b *strings.Builder, inOrder bool) {
	b.WriteString("compiled = imported_kernel_function[_grid](\n")
	var done []string
	for _, p := range w.params {
		if w.has(p.name) && p.binds != byName && (inOrder || p.binds == byPosition) {
			b.WriteString("    " + passed(p, false) + ",\n")
			done = append(done, pythonQuote(p.name))
		}
	}
	others := "name not in _set_by_tuner(imported_kernel_function)"
	if len(done) > 0 {
		others = "name not in {" + strings.Join(done, ", ") + ", *_set_by_tuner(imported_kernel_function)}"
	}
	b.WriteString("    **{name: value for name, value in args_dict.items() if " + others + "}\n)\n")
}
