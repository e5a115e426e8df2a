package reproduce

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// hostileText is where a trace may have any text: each function puts one into the records.
var hostileTexts = []struct {
	name   string
	source bool // the text is in the kernel's source
	set    func(r *hostileTrace, text string)
}{
	{"argument", false, func(r *hostileTrace, s string) { r.arg(s, `{"type":"int","value":3}`) }},
	{"second argument", false, func(r *hostileTrace, s string) {
		r.arg("n", `{"type":"int","value":3}`)
		r.arg(s, `{"type":"int","value":3}`)
	}},
	{"kernel", false, func(r *hostileTrace, s string) { r.kernel = s }},
	{"hash", false, func(r *hostileTrace, s string) { r.hash = s }},
	{"device", false, func(r *hostileTrace, s string) { r.tensor("device", s) }},
	{"element type", false, func(r *hostileTrace, s string) { r.tensor("dtype", s) }},
	{"value", false, func(r *hostileTrace, s string) { r.arg("s", fmt.Sprintf(`{"type":"str","value":%s}`, jsonText(s))) }},
	{"type", false, func(r *hostileTrace, s string) { r.arg("s", fmt.Sprintf(`{"type":%s,"repr":"X(y=1)"}`, jsonText(s))) }},
	{"text", false, func(r *hostileTrace, s string) { r.arg("s", fmt.Sprintf(`{"type":"object","repr":%s}`, jsonText(s))) }},
	{"function", false, func(r *hostileTrace, s string) {
		r.arg("f", fmt.Sprintf(`{"type":"JITFunction","repr":%s}`, jsonText("JITFunction("+s+":"+s+")")))
	}},
	{"object", false, func(r *hostileTrace, s string) {
		r.arg("f", fmt.Sprintf(`{"type":"function","repr":"","object":%s}`, jsonText("m:"+s)))
	}},
	{"module of an object", false, func(r *hostileTrace, s string) {
		r.arg("f", fmt.Sprintf(`{"type":"tuple","items":[{"type":"C","class":%s,"fields":{"a":{"type":"int","value":1}}}]}`, jsonText(s+":C")))
	}},
	{"field", false, func(r *hostileTrace, s string) {
		r.arg("f", fmt.Sprintf(`{"type":"C","class":"m:C","fields":{%s:{"type":"str","value":%s}}}`, jsonText(s), jsonText(s)))
	}},
	{"described global", false, func(r *hostileTrace, s string) {
		r.described("G", `{"type":"C","class":`+jsonText("m:"+s)+`,"fields":{`+jsonText(s)+`:{"type":"E","class":`+jsonText("enum:"+s)+`,"member":`+jsonText(s)+`}}}`)
	}},
	{"items of a global", false, func(r *hostileTrace, s string) {
		r.described("G", `{"type":`+jsonText(s)+`,"items":[{"type":"object","object":`+jsonText("torch:"+s)+`},{"type":"dtype","repr":`+jsonText(s)+`}]}`)
	}},
	{"option of a helper", false, func(r *hostileTrace, s string) {
		r.helper("helper", "m")
		r.helpers[0].(map[string]any)["qualname"], r.helpers[0].(map[string]any)["options"] = s, map[string]any{s: s, "noinline": s}
	}},
	{"class without source", false, func(r *hostileTrace, s string) {
		r.helpers = append(r.helpers, map[string]any{"name": "helper", "module": "m", "qualname": "helper", "kind": "class", "base": s, "members": map[string]any{s: s}},
			map[string]any{"name": "Other", "module": "m", "qualname": s, "kind": "class", "base": "tuple", "members": []any{s}})
	}},
	{"warps", false, func(r *hostileTrace, s string) { r.metadata["num_warps"], r.metadata["maxnreg"] = s, s }},
	{"option", false, func(r *hostileTrace, s string) { r.metadata["num_ctas"] = map[string]any{s: []any{s}} }},
	{"scratch", false, func(r *hostileTrace, s string) { r.metadata["global_scratch_size"] = s }},
	{"warps of TTGIR", false, func(r *hostileTrace, s string) { r.content["k.ttgir"] = `"ttg.num-warps" = 4` + s }},
	{"constant", false, func(r *hostileTrace, s string) { r.metadata["src_constants"] = map[string]any{"(1,)": s, s: 1} }},
	{"file of IR", false, func(r *hostileTrace, s string) {
		r.content = map[string]string{s + ".ttir": "module {}"}
	}},
	{"file of the source", false, func(r *hostileTrace, s string) { r.file = s }},
	{"global", false, func(r *hostileTrace, s string) { r.global(s, "int", 3) }},
	{"global in a module", false, func(r *hostileTrace, s string) {
		r.global("mod", "module", "mod")
		r.global("mod."+s, "int", 3)
	}},
	{"type of a global", false, func(r *hostileTrace, s string) { r.global("G", s, s) }},
	{"value of a global", false, func(r *hostileTrace, s string) { r.global("G", "constexpr", map[string]any{s: []any{s, nil, true}}) }},
	{"number of a global", false, func(r *hostileTrace, s string) { r.global("G", "Number", s) }},
	{"element type of a global", false, func(r *hostileTrace, s string) {
		r.global("G", "dtype", "torch."+s)
		r.global("H", "dtype", s)
	}},
	{"import", false, func(r *hostileTrace, s string) { r.global("G", "import", s+":"+s) }},
	{"name of an import", false, func(r *hostileTrace, s string) { r.global(s, "import", "mod:name") }},
	{"module", false, func(r *hostileTrace, s string) { r.global("mod", "module", s) }},
	{"name of a module", false, func(r *hostileTrace, s string) { r.global(s, "module", "mod") }},
	{"alias", false, func(r *hostileTrace, s string) {
		r.global(s, "alias", "helper")
		r.helper("helper", "mod")
	}},
	{"helper", false, func(r *hostileTrace, s string) { r.helper(s, "torch") }},
	{"module of a helper", false, func(r *hostileTrace, s string) { r.helper("helper", "torch."+s) }},
	{"decorator", true, func(r *hostileTrace, s string) {
		r.source = "@triton.jit(do_not_specialize=" + s + ", noinline=" + s + ")\ndef k(x): pass\n"
	}},
	{"annotation", true, func(r *hostileTrace, s string) { r.source = "@triton.jit\ndef k(x: " + s + "): pass\n" }},
	{"parameter", true, func(r *hostileTrace, s string) { r.source = "@triton.jit\ndef k(" + s + "): pass\n" }},
	{"function of the source", true, func(r *hostileTrace, s string) { r.source = "@triton.jit\ndef " + s + "(x): pass\n" }},
}

// hostileTrace are the records of a trace of one launch.
type hostileTrace struct {
	kernel, hash, file, source string
	names, args                []string
	metadata                   map[string]any
	content                    map[string]string
	globals, helpers           []any
	helperNames                []string
}

func (r *hostileTrace) arg(name, value string) {
	r.names, r.args = append(r.names, name), append(r.args, value)
}

func (r *hostileTrace) tensor(member, text string) {
	t := map[string]any{"type": "tensor", "shape": []int{2}, "dtype": "torch.float32", "device": "cuda:0", "stride": []int{1}, "element_size": 4}
	t[member] = text
	r.arg("t", jsonText(t))
}

func (r *hostileTrace) global(name, kind string, value any) {
	r.globals = append(r.globals, map[string]any{"name": name, "owner": "k", "type": kind, "value": value})
}

func (r *hostileTrace) described(name, text string) {
	r.globals = append(r.globals, map[string]any{"name": name, "owner": "k", "type": "C", "value": "", "constexpr": true, "described": json.RawMessage(text)})
}

func (r *hostileTrace) helper(name, module string) {
	r.helperNames = append(r.helperNames, name)
	r.helpers = append(r.helpers, map[string]any{"name": name, "module": module, "kind": "jit", "code": "@triton.jit\ndef helper(): pass\n"})
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// write writes the trace. In a copied script the source must use a helper by name for it to come along.
func (r *hostileTrace) write(file string, w wayOut) error {
	source := r.source
	if source == "" && w.source {
		source = "@triton.jit\ndef k(x): mod.G, helper()\n"
	}
	r.metadata["name"], r.metadata["hash"] = r.kernel, r.hash
	payload := map[string]any{"metadata": r.metadata, "file_content": r.content}
	if source != "" {
		payload["python_source"] = map[string]any{"file_path": r.file, "start_line": 1, "code": source}
	}
	compilation := map[string]any{"event_type": "compilation", "pid": 1, "payload": payload,
		"goproton": map[string]any{"version": 1, "function": "k", "module": "m", "globals": append([]any{}, r.globals...), "dependencies": r.helpers}}
	r.arg("x", `{"type":"int","value":3}`)
	var args []string
	for i, name := range r.names {
		args = append(args, jsonText(name)+":"+r.args[i])
	}
	launch := fmt.Sprintf(`{"event_type":"launch","pid":1,"name":%s,"grid":[1],"compilation_metadata":{"hash":%s},"extracted_args":{%s}}`,
		jsonText(r.kernel), jsonText(r.hash), strings.Join(args, ","))
	return os.WriteFile(file, []byte(jsonText(compilation)+"\n"+launch+"\n"), 0o666)
}

// wayOut is a kind of script.
type wayOut struct {
	source   bool
	kind     Import
	template string
	embed    bool
}

// quotesTemplate has the placeholders where templates of users have them.
const quotesTemplate = `#!/usr/bin/env python3
'''{{REPRODUCER_METADATA_PLACEHOLDER}}'''
NAME = f'{{KERNEL_NAME_PLACEHOLDER}}'
` + "# {{REPRODUCER_METADATA_PLACEHOLDER}}\n# {{CONTEXT_JSON_PLACEHOLDER}}\n# {{COMPILATION_JSON_PLACEHOLDER}}\n# {{UTILITY_FUNCTIONS_PLACEHOLDER}}\n" + `
# {{KERNEL_IMPORT_PLACEHOLDER}}
# of {{KERNEL_NAME_PLACEHOLDER}}
print('{{KERNEL_NAME_PLACEHOLDER}}', "{{KERNEL_NAME_PLACEHOLDER}}", """{{KERNEL_NAME_PLACEHOLDER}}""")
# {{LAUNCH_KERNEL_BODY_PLACEHOLDER}}
# {{KERNEL_INVOCATION_PLACEHOLDER}}
# {{SYNC_CALL_PLACEHOLDER}}
`

// headTemplate has the name where Python looks for a file's encoding.
const headTemplate = "# of {{KERNEL_NAME_PLACEHOLDER}}\n# {{KERNEL_NAME_PLACEHOLDER}} again\nprint('{{KERNEL_NAME_PLACEHOLDER}}')\n"

var waysOut = []wayOut{
	{false, ImportOverride, "example", false},
	{false, ImportOverride, "benchmark", true},
	{true, ImportCopy, "example", false},
	{true, ImportOverride, "tritonbench", true},
	{true, ImportOverride, "quotes.py", true},
	{true, ImportDefault, "quotes.py", false},
	{false, ImportOverride, "head.py", false},
}

// shape is what testdata/shape.py says of a script.
type shape struct {
	Error        string
	Kinds, Calls map[string]int
	Names        []string
}

// parser is a Python that takes scripts apart.
type parser struct {
	sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

func newParser(t testing.TB) *parser {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on PATH")
	}
	cmd := exec.Command(python, "-I", "testdata/shape.py")
	in, out := testkit.Piped(t, cmd)
	t.Cleanup(func() {
		in.Close()
		cmd.Wait() //nolint:errcheck // it ends with its input
	})
	return &parser{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

func (p *parser) parse(t testing.TB, script []byte) shape {
	p.Lock()
	defer p.Unlock()
	if _, err := fmt.Fprintf(p.in, "%s\n", jsonText(string(script))); err != nil {
		t.Fatal(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var s shape
	if err := json.Unmarshal(line, &s); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return s
}

// hostileScript is the script of a trace with a text somewhere, and "" where there is none.
func hostileScript(t testing.TB, place int, w wayOut, text string) ([]byte, error) {
	folder := t.TempDir()
	r := &hostileTrace{kernel: "k", hash: testHash, file: "/gone.py", metadata: map[string]any{"num_warps": 4},
		content: map[string]string{"k.ttir": "module {}"}}
	hostileTexts[place].set(r, text)
	file := filepath.Join(folder, "trace.ndjson")
	if err := r.write(file, w); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"quotes.py": quotesTemplate, "head.py": headTemplate} {
		if w.template == name {
			w.template = filepath.Join(folder, name)
			if err := os.WriteFile(w.template, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	trace, err := tritonparse.Open(file, tritonparse.OpenOptions{})
	if err != nil {
		return nil, err
	}
	l, err := Pick(trace, Selection{Line: 1})
	if err != nil {
		return nil, err
	}
	result, err := Generate(trace, l, Options{OutDir: filepath.Join(folder, "out"), Import: w.kind, Template: w.template, Embed: w.embed, Python: "/nonexistent"})
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(folder, result.Script); err != nil || !filepath.IsLocal(rel) || !strings.HasPrefix(rel, "out"+string(filepath.Separator)) {
		t.Errorf("the script is written to %s", result.Script)
	}
	return os.ReadFile(result.Script)
}

// literalCalls are what a value of a trace may be written with: their arguments are literals.
var literalCalls = map[string]bool{"float": true, "hasattr": true, "tl.constexpr": true, "tl.dtype": true, "types.ModuleType": true, "torch.cuda.is_available": true, "torch.cuda.synchronize": true}

// checkShape compares a script with that of a harmless trace. A text from a trace may be new in it only as a name that it is
// allowed to be, or in quotes.
func checkShape(t testing.TB, where, text string, usual, got shape) {
	if got.Error != "" {
		t.Errorf("%s %q: Python does not read the script: %s", where, text, got.Error)
		return
	}
	allowed := map[string]bool{}
	for _, name := range usual.Names {
		allowed[name] = true
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".:,()[] =", r) }) {
		if isIdentifier(part) {
			allowed[part] = true
		}
	}
	for _, name := range got.Names {
		if !allowed[name] && name != "cuda" && name != "types" && name != "ModuleType" && name != "constexpr" && name != "dtype" && name != "float" && name != "kernel" && name != "hasattr" {
			t.Errorf("%s %q: the script has the name %s", where, text, name)
		}
	}
	for call, n := range got.Calls {
		device, method, _ := strings.Cut(strings.TrimPrefix(call, "torch."), ".")
		synchronize := isIdentifier(device) && (method == "is_available" || method == "synchronize")
		if n > usual.Calls[call] && !literalCalls[call] && !synchronize {
			t.Errorf("%s %q: the script calls %s %d times, not %d", where, text, call, n, usual.Calls[call])
		}
	}
	for _, kind := range []string{"Expr", "Lambda", "FunctionDef", "ClassDef", "If", "For", "While", "With", "BoolOp", "BinOp", "IfExp", "Await", "Starred",
		"ListComp", "DictComp", "GeneratorExp", "NamedExpr", "JoinedStr", "FormattedValue", "Subscript", "Compare", "Raise", "Try", "Delete", "Global", "Assert"} {
		if got.Kinds[kind] > usual.Kinds[kind]+map[string]int{"Subscript": 2}[kind] {
			t.Errorf("%s %q: the script has %d %s, not %d", where, text, got.Kinds[kind], kind, usual.Kinds[kind])
		}
	}
}

// usualShape is that of a script with a harmless text in the same place.
func usualShape(t testing.TB, p *parser, place int, w wayOut) shape {
	for _, try := range []struct {
		place int
		text  string
	}{{place, "harmless"}, {place, "3"}, {0, "harmless"}} { // where a number is wanted; where no name is right
		if script, err := hostileScript(t, try.place, w, try.text); err == nil {
			if s := p.parse(t, script); s.Error == "" {
				return s
			}
		}
	}
	t.Fatalf("no script of %s, %v", hostileTexts[place].name, w)
	return shape{}
}

// attacks are texts that would be code, or end what is around them.
var attacks = []string{
	`n: __import__('os').system('id')`, `cuda and __import__('os').system('id') #`, "x\n__import__('os').system('id')\n", `"); __import__("os").system("id"); ("`,
	`'); exit(); ('`, `''' + exit() + '''`, `""" + exit() + """`, `{exit()}`, `\`, `x\`, `x = exit()`, `os; exit()`, `float32 if exit() else 0`, `["x", exit()]`,
	`x, *exit()`, `print`, `torch`, `__builtins__`, `load_context`, `lambda`, "\x1b[2J", "\u202e", "\r", "\f", "ſys", "ﬁ", "α", `coding: utf-7 +AGU-xit()`, `../../x`, `/etc/passwd`,
	`{{KERNEL_IMPORT_PLACEHOLDER}}`, `k(x: exit()`, "", "1", "01", "-1", "1e5", "nan", "_", "os.system", `=exit()`,
}

// TestHostileScripts writes scripts of traces with such texts in each place, and has Python say what is in them: each text in each place, in one
// way. make test takes every eighth.
func TestHostileScripts(t *testing.T) {
	p := newParser(t)
	written, every := 0, 8
	if testkit.All() {
		every = 1
	}
	for i, place := range hostileTexts {
		for j, w := range waysOut {
			var usual shape
			for k, text := range attacks {
				if (i+k)%(every*len(waysOut)) != j || place.source && w.kind == ImportCopy { // whose source is code by its nature
					continue
				}
				script, err := hostileScript(t, i, w, text)
				if err != nil {
					continue
				}
				if usual.Kinds == nil {
					usual = usualShape(t, p, i, w)
				}
				written++
				checkShape(t, fmt.Sprintf("%s, %v", place.name, w), text, usual, p.parse(t, script))
			}
		}
	}
	if written < 1000/every {
		t.Errorf("only %d scripts were written", written)
	}
	t.Logf("%d scripts", written)
}

// TestHostileFailures does the same with the record of a compilation that failed.
func TestHostileFailures(t *testing.T) {
	p := newParser(t)
	places := []string{"TYPE", "MESSAGE", "STAGE", "CAUSE", "NAME", "KIND", "ATTR", "OPTION", "VALUE", "CLASS", "BACKEND", "ARCH", "KERNEL"}
	script := func(place, text string) ([]byte, error) {
		record := `{"event_type":"compilation_failure","pid":1,"payload":{"metadata":{"name":"KERNEL","hash":"ab","target":{"backend":"BACKEND","arch":"ARCH","warp_size":32}},
"python_source":{"file_path":"/gone.py","start_line":1,"code":"@triton.jit\ndef k(x): pass\n"}},"goproton":{"version":1,"function":"k","module":"m","qualname":"k","kind":"jit","options":{},
"globals":[],"dependencies":[],"failure":{"type":"TYPE","message":"MESSAGE","stage":"STAGE","causes":["CAUSE"]},"inputs":{"signature":[["NAME",["KIND","i32"]]],
"constants":[[[1],{"type":"str","value":"VALUE"}],[[2,0],{"type":"C","class":"torch:CLASS","fields":{"NAME":{"type":"int","value":1}}}]],"attrs":[[[0],[["ATTR",16]]]],"options":{"OPTION":["VALUE"]}}}}`
		for _, other := range places {
			with := other
			if other == place {
				with = text
			}
			record = strings.ReplaceAll(record, `"`+other+`"`, jsonText(with))
			record = strings.ReplaceAll(record, `"torch:`+other+`"`, jsonText("torch:"+with))
		}
		folder := t.TempDir()
		file := filepath.Join(folder, "trace.ndjson")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(record, "\n", "")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		trace, err := tritonparse.Open(file, tritonparse.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		result, err := GenerateFailed(trace, PickFailed(trace, Selection{Line: -1}), Options{OutDir: filepath.Join(folder, "out")})
		if err != nil {
			return nil, err
		}
		return os.ReadFile(result.Script)
	}
	written := 0
	usual, err := script("", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, place := range places {
		for j, text := range attacks {
			if made, err := script(place, text); err == nil && (i+j)%2 == 0 {
				written++
				checkShape(t, place, text, p.parse(t, usual), p.parse(t, made))
			}
		}
	}
	if written < 100 {
		t.Errorf("only %d scripts were written", written)
	}
}

// FuzzScript is TestHostileScripts with texts that the fuzzer finds.
func FuzzScript(f *testing.F) {
	for i := range hostileTexts {
		f.Add(uint8(i), uint8(i), attacks[i%len(attacks)])
	}
	p := newParser(f)
	usual := map[[2]int]shape{}
	f.Fuzz(func(t *testing.T, place, way uint8, text string) {
		i, j := int(place)%len(hostileTexts), int(way)%len(waysOut)
		if hostileTexts[i].source && waysOut[j].kind == ImportCopy {
			return
		}
		script, err := hostileScript(t, i, waysOut[j], text)
		if err != nil {
			return
		}
		if _, ok := usual[[2]int{i, j}]; !ok {
			usual[[2]int{i, j}] = usualShape(t, p, i, waysOut[j])
		}
		checkShape(t, fmt.Sprintf("%s, %v", hostileTexts[i].name, waysOut[j]), text, usual[[2]int{i, j}], p.parse(t, script))
	})
}
