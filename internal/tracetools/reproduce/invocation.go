package reproduce

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/jsontext"
	tracework "github.com/goproton/goproton/internal/trace/work"
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
		if text, ok := foreign.Literal([]byte(v)); ok {
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

// invocation is the launch: arguments by position up to the first that is a constant, then by name.
func (w *work) invocation() string {
	var b strings.Builder
	if n, err := strconv.Atoi(string(jsontext.Get(w.built.Metadata, "global_scratch_size"))); err == nil && n > 0 {
		fmt.Fprintf(&b, "_set_allocator(%s)\n", foreign.Quote(w.device()+":0"))
	}
	if w.PreserveAutotune {
		b.WriteString("compiled = imported_kernel_function[_grid](\n    **{name: value for name, value in args_dict.items() if name not in _set_by_tuner(imported_kernel_function)}\n)\n")
		return b.String()
	}
	b.WriteString("compiled = imported_kernel_function[tuple(grid)](\n")
	byName := false
	positional := slices.ContainsFunc(w.params, func(p param) bool { return p.name == "grid" || p.name == "warmup" || p.name == "self" })
	for _, p := range w.params {
		if !w.has(p.name) { // its default serves; what comes later must be given by name
			byName = true
			continue
		}
		byName = byName || !positional && (p.constexpr || p.defaults != "")
		if byName {
			fmt.Fprintf(&b, "    %s=args_dict[%s],\n", p.name, foreign.Quote(p.name))
		} else {
			fmt.Fprintf(&b, "    args_dict[%s],\n", foreign.Quote(p.name))
		}
	}
	for _, o := range w.kernel.options {
		fmt.Fprintf(&b, "    %s=%s,\n", o.name, o.value)
	}
	b.WriteString(")\n")
	return b.String()
}
