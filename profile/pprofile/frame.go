package pprofile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"
	"github.com/ianlancetaylor/demangle"
)

// gpuMapping is the mapping of kernels. pprof's -show, -hide and -focus look at the names of mappings too,
// so that -show='\[gpu\]' leaves kernels only and -hide='\[gpu\]' scopes only.
const gpuMapping = "[gpu]"

// splitFrame takes a frame of Python apart: file:line@function. A name that joining would
// change, such as one with line 007, is not a Python frame.
func splitFrame(name string) (file string, line int64, function string, ok bool) {
	for end := max(len(name)-1, 0); ; {
		at := strings.LastIndexByte(name[:end], '@')
		if at < 0 {
			return "", 0, "", false
		}
		colon := strings.LastIndexByte(name[:at], ':')
		if colon <= 0 {
			return "", 0, "", false
		}
		line, err := strconv.ParseInt(name[colon+1:at], 10, 64)
		if err == nil && line >= 0 && strconv.FormatInt(line, 10) == name[colon+1:at] {
			return name[:colon], line, name[at+1:], true
		}
		end = at
	}
}

// frames makes one function and one location for each frame name.
type frames struct {
	p         *pprof.Profile
	gpu       *pprof.Mapping
	functions map[functionKey]*pprof.Function
	locations map[locationKey]*pprof.Location
}

type functionKey struct{ name, file string }

type locationKey struct {
	frame  string
	kernel bool
	outer  *pprof.Location // what it was inlined in
}

func (f *frames) location(name string, kernel bool) *pprof.Location {
	key := locationKey{frame: name, kernel: kernel}
	if l := f.locations[key]; l != nil {
		return l
	}
	l := &pprof.Location{ID: uint64(len(f.p.Location) + 1)}
	if file, line, function, ok := splitFrame(name); ok {
		l.Line = []pprof.Line{{Function: f.function(function, file), Line: line}}
	} else {
		l.Line = []pprof.Line{{Function: f.function(name, "")}}
	}
	if kernel {
		l.Mapping = f.gpuMapping()
	}
	f.p.Location = append(f.p.Location, l)
	f.locations[key] = l
	return l
}

func (f *frames) function(name, file string) *pprof.Function {
	key := functionKey{name, file}
	if fn := f.functions[key]; fn != nil {
		return fn
	}
	fn := &pprof.Function{ID: uint64(len(f.p.Function) + 1), Name: shortName(name), Filename: file}
	// A name that pprof sees only once is demangled already. One that is also the system's it cleans of what look like
	// template arguments: <lambda>, <module> and the <grid:…> of a Triton kernel.
	if fn.Name != name {
		fn.SystemName = name
	}
	f.p.Function = append(f.p.Function, fn)
	f.functions[key] = fn
	return fn
}

// gpuMapping makes the mapping at the first kernel. It is second, since pprof takes the first one for the profile's name.
func (f *frames) gpuMapping() *pprof.Mapping {
	if f.gpu == nil {
		f.gpu = &pprof.Mapping{ID: uint64(len(f.p.Mapping) + 1), File: gpuMapping, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
		f.p.Mapping = append(f.p.Mapping, f.gpu)
	}
	return f.gpu
}

// shortName demangles as pprof does: without parameters and template arguments. The mangled name is kept as SystemName.
func shortName(name string) string {
	if !strings.HasPrefix(name, "_Z") && !strings.HasPrefix(name, "_R") {
		return name
	}
	return demangle.Filter(name, demangle.NoParams, demangle.NoTemplateParams, demangle.MaxLength(12))
}

// frameNames is what a location is called in a tree, outermost first: several where functions were inlined.
func frameNames(l *pprof.Location) []string {
	if len(l.Line) == 0 {
		return []string{addressName(l)}
	}
	names := make([]string, 0, len(l.Line))
	for i := len(l.Line) - 1; i >= 0; i-- {
		names = append(names, lineName(l, &l.Line[i]))
	}
	return names
}

func lineName(l *pprof.Location, line *pprof.Line) string {
	fn := line.Function
	if fn == nil {
		return addressName(l)
	}
	name := cmp.Or(fn.SystemName, fn.Name)
	if fn.Filename == "" {
		return name
	}
	return fmt.Sprintf("%s:%d@%s", fn.Filename, line.Line, name)
}

// addressName names code of which only the address is known.
func addressName(l *pprof.Location) string {
	if l.Mapping == nil || l.Mapping.File == "" {
		return fmt.Sprintf("%#x", l.Address)
	}
	return fmt.Sprintf("%s+%#x", filepath.Base(l.Mapping.File), l.Address-l.Mapping.Start+l.Mapping.Offset)
}

// Frame is how pprof has the name of a frame in parts: the function, the name that the linker has for it if that is another,
// and for a Python function its file and line.
func Frame(name string) (function, system, file string, line int64) {
	if file, line, function, ok := splitFrame(name); ok {
		return function, "", file, line
	}
	if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") {
		if function := demangle.Filter(name, demangle.NoParams, demangle.MaxLength(12)); function != name {
			return function, name, "", 0
		}
	}
	return name, "", "", 0
}
