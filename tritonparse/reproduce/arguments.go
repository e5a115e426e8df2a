package reproduce

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Rebuilt says how the script makes an argument.
type Rebuilt struct {
	Name  string `json:"name"`
	Brief string `json:"value"` // float16[64,64], 64, "relu"
	From  string `json:"from"`  // recorded, statistics, random …
	Notes string `json:"notes,omitempty"`
}

// plan is what the script gets in addition to the launch record.
type plan struct {
	seed     int64
	intRange [2]int64
	args     []jsontext.Member // extracted_args of the context
}

// rebuildArguments makes the arguments of the context from those of the launch: one for each parameter, with the contents of
// tensors at paths relative to the script.
func (w *work) rebuildArguments() error {
	w.setRandom()
	var missing []string
	for i, p := range w.params {
		raw, from := w.recorded(i, p)
		if raw == nil {
			if p.defaults == "" {
				missing = append(missing, p.name)
			}
			continue
		}
		if text := w.onlyText(i, p, raw); text != "" {
			raw, from = fmt.Appendf(nil, `{"type":"str","value":%s}`, jsontext.Quote(text)), "its text: the recorded TTIR is of its value"
		} else if w.result.Import == ImportOverride {
			raw = withoutFunctions(raw)
		}
		w.addArgument(p.name, raw, from)
	}
	for _, a := range w.arguments() {
		if !w.has(a.Name) && w.source != nil && a.Tensor() == nil {
			w.note("the launch had %s=%s, which the source has no parameter for; it was left out", a.Name, a.Brief())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the trace does not say what the arguments %s of %s were, record %d of %s; take another launch: %s",
			strings.Join(missing, ", "), w.launch.Name, w.launch.Line, w.launch.File, w.others())
	}
	w.noteSharing()
	return nil
}

// setRandom chooses what random values are made of.
func (w *work) setRandom() {
	w.plan.seed = w.Seed
	w.plan.intRange = w.IntRange
	if w.IntRange == [2]int64{} {
		w.plan.intRange = [2]int64{0, smallestSize(w.arguments())}
	}
}

// recorded returns the argument that the trace has for a parameter, as JSON, and where it is from if it is not the launch's: among
// the arguments of the launch, those of Inductor's hook, or the constants that the kernel was compiled with.
func (w *work) recorded(i int, p param) (raw []byte, from string) {
	for _, list := range [][]tritonparse.Argument{w.launch.Args, w.launch.InductorArgs} {
		for _, a := range list {
			if a.Name == p.name {
				return a.Raw, ""
			}
		}
	}
	if v, ok := constantsOf(w.built)[i]; ok {
		return constantArgument(v), "the compilation"
	}
	return nil, ""
}

// onlyText returns the text of a constant that cannot be rebuilt from it and need not be, because the script compiles recorded
// TTIR, which has its value already. It returns "" for any other argument.
func (w *work) onlyText(i int, p param, raw []byte) string {
	_, constant := constantsOf(w.built)[i]
	if w.result.Import != ImportOverride || !p.constexpr && !constant {
		return ""
	}
	a := readArgument(p.name, raw)
	if len(givenIn(raw)) == 0 && (a.Value != nil || a.Tensor() != nil || isPlain(a.Type) || slices.Contains([]string{"constexpr", "tuple", "list", "Size"}, a.Type)) {
		return ""
	}
	return cmp.Or(a.Repr, a.Type)
}

// withoutFunctions replaces functions in an argument, which a script of recorded TTIR does not have, by None: both are constants.
func withoutFunctions(raw []byte) []byte {
	members, err := jsontext.Members(raw)
	if err != nil {
		return raw
	}
	if ndjson.Get(members, "object") != nil {
		return []byte(`{"type":"NoneType","repr":"None"}`)
	}
	return ndjson.Object(members, func(m jsontext.Member) []byte {
		if m.Name != "items" {
			return m.Value
		}
		return jsontext.AppendList(nil, jsontext.Elements(m.Value), func(out, each []byte) []byte { return append(out, withoutFunctions(each)...) })
	})
}

// readArgument parses the recorded JSON of an argument.
func readArgument(name string, raw []byte) tritonparse.Argument {
	return tritonparse.ReadArguments(append(ndjson.AppendMember(nil, name, raw), '}'))[0]
}

func (w *work) has(name string) bool {
	return slices.ContainsFunc(w.plan.args, func(m jsontext.Member) bool { return m.Name == name })
}

var position = regexp.MustCompile(`^\((\d+),\)$`)

// constantsOf returns the arguments whose values the compiler knew, by position: constexprs, and numbers that are 1.
func constantsOf(c *tritonparse.Compilation) map[int][]byte {
	constants := map[int][]byte{}
	members, _ := jsontext.Members(jsontext.Get(c.Metadata, "src_constants"))
	for _, m := range members {
		if at := position.FindStringSubmatch(m.Name); at != nil {
			i, _ := strconv.Atoi(at[1])
			constants[i] = m.Value
		}
	}
	return constants
}

// constantArgument describes a constant as launch records describe arguments.
func constantArgument(v []byte) []byte {
	text := dtypeName.ReplaceAllString(jsontext.Text(v), "$1")
	switch {
	case string(v) == "null":
		return []byte(`{"type":"NoneType","repr":"None"}`)
	case string(v) == "true" || string(v) == "false":
		return fmt.Appendf(nil, `{"type":"bool","value":%s}`, v)
	case v[0] == '"' && isTritonType(text):
		return fmt.Appendf(nil, `{"type":"dtype","repr":%s}`, jsontext.Quote(text))
	case v[0] == '"':
		return fmt.Appendf(nil, `{"type":"str","value":%s}`, v)
	case v[0] == '[' || v[0] == '{':
		tuple, _ := pythonTuple(v) // "" makes the script ask for a value
		return fmt.Appendf(nil, `{"type":"tuple","repr":%s}`, jsontext.Quote(tuple))
	case strings.ContainsAny(string(v), ".eE"):
		return fmt.Appendf(nil, `{"type":"float","value":%s}`, v)
	}
	return fmt.Appendf(nil, `{"type":"int","value":%s}`, v)
}

// smallestSize is the shortest side, longer than one, of all tensors. Integers below it are safe as indices.
func smallestSize(args []tritonparse.Argument) int64 {
	least := int64(0)
	for _, a := range args {
		if t := a.Tensor(); t != nil {
			for _, n := range t.Shape {
				if n > 1 && (least == 0 || n < least) {
					least = n
				}
			}
		}
	}
	return max(least, 2)
}

// addArgument adds an argument to the context, and to the result how the script makes it.
func (w *work) addArgument(name string, raw []byte, from string) {
	raw = w.withBlobs(name, raw)
	w.plan.args = append(w.plan.args, jsontext.Member{Name: name, Value: raw})
	a := readArgument(name, raw)
	r := Rebuilt{Name: name, Brief: a.Brief(), From: cmp.Or(from, "recorded")}
	if t := a.Tensor(); t != nil {
		r.From = w.contents(t)
		r.Notes = layoutOf(t)
	} else if inner := tensorsIn(raw); len(inner) > 0 {
		for _, t := range inner {
			if text := "its tensors " + w.contents(&t); !strings.Contains(r.Notes, text) {
				r.Notes = strings.TrimPrefix(r.Notes+", "+text, ", ")
			}
		}
	} else if !isPlain(a.Type) && a.Type != "" && a.Value == nil && !isMade(raw) {
		r.Notes = "from its text"
		if strings.Contains(a.Repr, "Tensor(shape=") {
			r.Notes += ", its tensors random"
		} else if number := strings.TrimSuffix(strings.TrimPrefix(a.Repr, "constexpr["), "]"); a.Type == "constexpr" && isNumber.MatchString(number) {
			r.Notes += ", as a number and not a text"
		}
	}
	w.result.Arguments = append(w.result.Arguments, r)
}

var isNumber = regexp.MustCompile(`^([-+]?(\d.*|nan|inf)|True|False|None)$`)

// isMade reports whether the description of an argument says what it is made of.
func isMade(raw []byte) bool {
	return slices.ContainsFunc([]string{"object", "member", "items", "entries", "fields"}, func(name string) bool { return jsontext.Get(raw, name) != nil })
}

// tensorsIn are the tensors within an argument that is described by its parts.
func tensorsIn(raw []byte) (tensors []tritonparse.Argument) {
	members, _ := jsontext.Members(raw)
	for _, m := range members {
		inner := jsontext.Elements(m.Value)
		if m.Name == "fields" {
			parts, _ := jsontext.Members(m.Value)
			for _, p := range parts {
				inner = append(inner, p.Value)
			}
		} else if m.Name != "items" {
			continue
		}
		for _, each := range inner {
			if a := readArgument("", each); a.Tensor() != nil {
				tensors = append(tensors, *a.Tensor())
			}
			tensors = append(tensors, tensorsIn(each)...)
		}
	}
	return tensors
}

func isPlain(kind string) bool {
	return slices.Contains([]string{"int", "float", "bool", "str", "NoneType", "dtype"}, kind)
}

// contents says where the values of a tensor come from.
func (w *work) contents(t *tritonparse.Argument) string {
	dtype := strings.TrimPrefix(t.Dtype, "torch.")
	whole := strings.Contains(dtype, "int")
	switch {
	case t.Blob != nil && t.Blob.Path != "":
		return "recorded"
	case strings.HasPrefix(dtype, "float4"):
		return "random bytes"
	case likeRecorded(t.Stats) && !strings.HasPrefix(dtype, "complex"):
		return fmt.Sprintf("random like recorded: %.4g±%.3g in [%.4g, %.4g]", t.Stats.Mean, t.Stats.Std, t.Stats.Min, t.Stats.Max)
	case dtype == "bool":
		return "random"
	case whole && t.ElementSize == 1:
		return "random bytes"
	case whole:
		return fmt.Sprintf("random in [%d, %d)", w.plan.intRange[0], w.plan.intRange[1])
	}
	return "random normal"
}

// likeRecorded reports whether random values can be made from statistics. Those of one element have no deviation.
func likeRecorded(s *tritonparse.Statistics) bool {
	return s != nil && finite(s.Min, s.Max, s.Mean) && (finite(s.Std) || s.Min == s.Max)
}

func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v-v != 0 })
}

func layoutOf(t *tritonparse.Argument) string {
	step := int64(1)
	for i := len(t.Shape) - 1; i >= 0; i-- {
		if i < len(t.Stride) && t.Stride[i] != step && t.Shape[i] > 1 {
			return fmt.Sprintf("strides %v", t.Stride)
		}
		step *= t.Shape[i]
	}
	return ""
}

// endOf is the address after the last byte of a tensor.
func endOf(t *tritonparse.Argument) uint64 {
	extent := int64(1)
	for d, n := range t.Shape {
		if n == 0 {
			return t.DataPtr
		}
		if d < len(t.Stride) {
			extent += (n - 1) * t.Stride[d]
		}
	}
	return t.DataPtr + uint64(max(extent, 0)*t.ElementSize)
}

// noteSharing notes at tensors whose memory overlaps that they share it.
func (w *work) noteSharing() {
	type span struct {
		from, to uint64
		index    int
	}
	var spans []span
	for i, m := range w.plan.args {
		a := readArgument(m.Name, m.Value)
		if t := a.Tensor(); t != nil && t.DataPtr != 0 {
			spans = append(spans, span{t.DataPtr, endOf(t), i})
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to {
			r := w.rebuilt(w.plan.args[spans[i].index].Name)
			r.Notes = strings.TrimPrefix(r.Notes+", shares memory with "+w.plan.args[spans[i-1].index].Name, ", ")
			spans[i].to = max(spans[i].to, spans[i-1].to)
		}
	}
}

func (w *work) rebuilt(name string) *Rebuilt {
	for i := range w.result.Arguments {
		if w.result.Arguments[i].Name == name {
			return &w.result.Arguments[i]
		}
	}
	return &Rebuilt{}
}

// device is the kind of device that the launch was for, as torch names it.
func (w *work) device() string {
	for _, a := range w.arguments() {
		if t := a.Tensor(); t != nil && t.Device != "" && t.Device != "cpu" {
			kind, _ := kindOfDevice(t.Device) // checkNames has seen that it is one
			return kind
		}
	}
	return "cuda"
}
