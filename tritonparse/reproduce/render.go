package reproduce

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

//go:embed templates python/*.py
var files embed.FS

// Templates are the built-in ones, by name.
var Templates = []string{"example", "benchmark", "tritonbench"}

func embedded(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(text)
}

func (w *work) hasOwnTemplate() bool {
	return slices.Contains(Templates, w.Template) || w.failed && w.Template == "compile"
}

func (w *work) template() (string, error) {
	if w.hasOwnTemplate() {
		return embedded("templates/" + w.Template + ".py"), nil
	}
	text, err := os.ReadFile(w.Template)
	if err != nil {
		return "", fmt.Errorf("read the template: %w; the built-in ones are %s", err, strings.Join(Templates, ", "))
	}
	// A placeholder that is a line of its own needs the end of that line.
	return strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n") + "\n", nil
}

// Replacer gives texts for placeholders: for those that GoProton does not know, and instead of its own.
type Replacer interface {
	// Replace returns texts by the names of placeholders, without braces.
	Replace(Request) (map[string]string, error)
}

// Request is the input of a Replacer.
type Request struct {
	Placeholders []string          `json:"placeholders"` // of the template, without braces
	Texts        map[string]string `json:"texts"`        // that GoProton has for those that it knows
	Kernel       string            `json:"kernel"`
	Template     string            `json:"template"`
	Context      json.RawMessage   `json:"context"`     // the launch, as in the context file
	Compilation  json.RawMessage   `json:"compilation"` // its metadata
}

// Program is a Replacer in any language: it reads the request as JSON from standard input and prints an object of texts.
type Program []string

func (p Program) Replace(r Request) (map[string]string, error) {
	input, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p[0], p[1:]...)
	cmd.Stdin = bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("replacer %s: %w: %s", strings.Join(p, " "), err, strings.TrimSpace(stderr.String()))
	}
	var texts map[string]string
	if err := json.Unmarshal(stdout.Bytes(), &texts); err != nil {
		return nil, fmt.Errorf("replacer %s: its output is not a JSON object of strings: %w", strings.Join(p, " "), err)
	}
	return texts, nil
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

func (w *work) render() ([]byte, error) {
	text, err := w.template()
	if err != nil {
		return nil, err
	}
	texts, err := w.texts()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	if w.Embed && !slices.Contains(names, "CONTEXT_JSON_PLACEHOLDER") {
		return nil, fmt.Errorf("template %s has no line # {{CONTEXT_JSON_PLACEHOLDER}}, where grid and arguments of the launch would go; add it, or leave out --embed-context", w.Template)
	}
	if w.result.Import == ImportOverride && w.Embed && !slices.Contains(names, "COMPILATION_JSON_PLACEHOLDER") {
		return nil, fmt.Errorf("template %s has no line # {{COMPILATION_JSON_PLACEHOLDER}}, where the recorded TTIR would go", w.Template)
	}
	quoted := map[string]bool{"KERNEL_NAME_PLACEHOLDER": true, "REPRODUCER_METADATA_PLACEHOLDER": true, "JSON_FILE_NAME_PLACEHOLDER": true}
	for _, r := range w.Replacers {
		more, err := r.Replace(Request{names, texts, w.launch.Name, w.Template, json.RawMessage(w.context), json.RawMessage(w.built.Metadata)})
		if err != nil {
			return nil, err
		}
		for name, t := range more {
			texts[strings.Trim(name, "{}")] = t
			delete(quoted, strings.Trim(name, "{}"))
		}
	}
	var unknown []string
	for _, name := range names {
		if _, ok := texts[name]; !ok && strings.HasSuffix(name, "_PLACEHOLDER") {
			unknown = append(unknown, "{{"+name+"}}")
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("template %s has unknown placeholders: %s; --replacer names a program that replaces them", w.Template, strings.Join(unknown, ", "))
	}
	if text, err = w.fillCode(text, quoted, texts); err != nil {
		return nil, err
	}
	text = fill(text, texts)
	return []byte(text), checkCoding(w.Template, text)
}

// place matches a placeholder, with the whole line if it is a comment of its own.
var place = regexp.MustCompile(`(?m)^([ \t]*)# *\{\{(\w+)\}\}[ \t]*\n(\n?)|\{\{(\w+)\}\}`)

// fill replaces placeholders, once, because texts may contain braces. A text in place of a comment gets its indentation; an empty
// one also removes the blank line after it.
func fill(text string, texts map[string]string) string {
	var b strings.Builder
	end := 0
	for _, m := range place.FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string { return submatch(text, m, i) }
		with, known := texts[group(2)+group(4)]
		if !known {
			continue
		}
		with = strings.TrimRight(with, "\n")
		b.WriteString(text[end:m[0]])
		end = m[1]
		switch {
		case group(4) != "":
			b.WriteString(with)
		case with != "":
			b.WriteString(indented(with, group(1)) + "\n" + group(3))
		}
	}
	return b.String() + text[end:]
}

func indented(text, indent string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = indent + l
		}
	}
	return strings.Join(lines, "\n")
}

// texts returns the texts of the placeholders of TritonParse's templates and of GoProton's.
func (w *work) texts() (map[string]string, error) {
	utilities := strings.Join(w.utilities(), "\n\n")
	if w.Template == "benchmark" {
		// The benchmark's functions have a placeholder of their own; the imports of both come first.
		utilities = imports(append(w.utilityFiles(), embedded("python/benchmark.py"))) + "\n\n" + strings.Join(w.utilities()[1:], "\n\n")
	}
	blobs, err := w.embeddedBlobs()
	if err != nil {
		return nil, err
	}
	if blobs != "" {
		utilities += "\n\n" + blobs
	}
	texts := map[string]string{
		"REPRODUCER_METADATA_PLACEHOLDER": w.metadata(),
		"KERNEL_NAME_PLACEHOLDER":         inPythonQuotes(foreign.Printable(w.launch.Name)),
		"JSON_FILE_NAME_PLACEHOLDER":      inPythonQuotes(filepath.Base(w.result.Context)),
		"CONTEXT_JSON_PLACEHOLDER":        "",
		"COMPILATION_JSON_PLACEHOLDER":    "",
		"IR_OVERRIDE_SETUP_PLACEHOLDER":   "",
		"UTILITY_FUNCTIONS_PLACEHOLDER":   utilities + "\n\n\n" + w.loader() + "\n",
		"BENCHMARK_FUNCTIONS_PLACEHOLDER": withoutImports(embedded("python/benchmark.py")),
		"KERNEL_SYSPATH_PLACEHOLDER":      w.kernel.sysPath,
		"KERNEL_IMPORT_PLACEHOLDER":       w.kernel.code,
		"LAUNCH_KERNEL_BODY_PLACEHOLDER":  "grid, args_dict = create_args_from_json(load_context())",
		"VERBOSE_ARGS_PRINT_PLACEHOLDER":  verbose,
		"KERNEL_INVOCATION_PLACEHOLDER":   w.invocation(),
		"KERNEL_COMPILATION_PLACEHOLDER":  w.kernel.compilation,
		"SYNC_CALL_PLACEHOLDER":           w.synchronize(),
	}
	if w.Embed {
		texts["CONTEXT_JSON_PLACEHOLDER"] = "CONTEXT_JSON = " + rawText(bytes.TrimSpace(w.context)) + "\n"
		texts["JSON_FILE_NAME_PLACEHOLDER"] = ""
		if w.result.Import == ImportOverride {
			stage := w.overrideStage()
			content := ndjson.AppendMember(nil, w.built.TextNames[stage], jsontext.Quote(w.built.Texts[stage]))
			compilation := ndjson.AppendMember(ndjson.AppendMember(nil, "metadata", w.built.Metadata), "file_content", append(content, '}'))
			texts["COMPILATION_JSON_PLACEHOLDER"] = "COMPILATION_JSON = " + rawText(append(compilation, '}')) + "\n"
		}
	}
	return texts, nil
}

// synchronize is Python that waits for the launch. In Triton's interpreter there may be no GPU, and nothing to wait for.
func (w *work) synchronize() string {
	device := w.device()
	runtime := "torch." + device
	text := runtime + ".is_available() and " + runtime + ".synchronize()"
	if device != "cuda" { // which another package may add to torch
		text = "hasattr(torch, " + pythonQuote(device) + ") and " + text
	}
	return text
}

const verbose = `if os.environ.get("TRITONPARSE_REPRODUCE_VERBOSE") == "1":
    print("grid", grid)
    for _name, _value in args_dict.items():
        print(_name, (tuple(_value.shape), _value.dtype, _value.stride()) if torch.is_tensor(_value) else _value)`

// loader is Python that loads the context.
func (w *work) loader() string {
	if w.Embed {
		return "def load_context():\n    return json.loads(CONTEXT_JSON)\n"
	}
	return fmt.Sprintf(`def load_context():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, %s), encoding="utf-8") as file:
        return json.load(file)
`, pythonQuote(filepath.Base(w.result.Context)))
}

// metadata are lines for the script's docstring.
func (w *work) metadata() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, launch %d: record %d of %s.\n", w.launch.Name, w.launch.ID, w.launch.Line, filepath.Base(w.launch.File))
	fmt.Fprintf(&b, "\n%s\n\nKernel from: %s (%s)\n", w.runs(), w.result.Import, w.result.Why)
	if w.failed {
		b.Reset()
		f := w.built.Extra.Failure
		fmt.Fprintf(&b, "The compilation of %s that is record %d of %s. It failed", w.launch.Name, w.launch.Line, filepath.Base(w.launch.File))
		if f.Stage != "" {
			fmt.Fprintf(&b, " while the compiler made its %s", f.Stage)
		}
		fmt.Fprintf(&b, ".\n\n%s: %s\n\n%s\n\nKernel from: %s (%s)\n", f.Type, f.Message, w.runs(), w.result.Import, w.result.Why)
	}
	for _, a := range w.result.Arguments {
		if a.From != "recorded" || a.Notes != "" {
			fmt.Fprintf(&b, "Argument %s: %s\n", a.Name, strings.TrimSuffix(a.From+", "+a.Notes, ", "))
		}
	}
	for _, n := range w.result.Notes {
		fmt.Fprintf(&b, "Note: %s\n", n)
	}
	fmt.Fprintf(&b, "\nWritten by GoProton %s.", w.Version)
	if w.Command != "" {
		fmt.Fprintf(&b, " Again: %s", w.Command)
	}
	return docText(b.String())
}

// runs says which code of the trace the script runs.
func (w *work) runs() string {
	switch w.result.Import {
	case ImportCopy:
		return "This script runs the source of the trace's kernel, and of the functions and constants that it uses. It is in this file: read it\n" +
			"before you run it if the trace is not yours. Nothing else of the trace is run."
	case ImportDefault:
		return "This script imports, and so runs, the file that the trace has the kernel from, " + w.built.Python.File + ",\n" +
			"and the modules of functions among its arguments. Nothing else of the trace is run."
	}
	return "This script runs nothing of the trace but the recorded TTIR, which is compiled for the GPU and launched there."
}

// docText escapes a text of several lines for a docstring, between three quotes of either kind.
func docText(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		line = pythonQuote(line)
		lines[i] = strings.ReplaceAll(line[1:len(line)-1], "''", `\'\'`)
	}
	return strings.Join(lines, "\n")
}

// builtType matches the types of values for which a script needs a file of its own, wherever they are in an argument.
var builtType = regexp.MustCompile(`"type"\s*:\s*"(TensorDescriptor|triton_kernels\.[^"]*)"`)

// utilityFiles returns the Python files with the functions that this launch needs.
func (w *work) utilityFiles() []string {
	list := []string{embedded("python/arguments.py")}
	if len(w.blobs) > 0 || !w.hasOwnTemplate() || w.Template == "benchmark" {
		list = append(list, embedded("python/blobs.py"))
	}
	descriptor, wrapped := false, false
	for _, m := range w.plan.args {
		for _, kind := range builtType.FindAllSubmatch(m.Value, -1) {
			descriptor = descriptor || string(kind[1]) == "TensorDescriptor"
			wrapped = wrapped || string(kind[1]) != "TensorDescriptor"
		}
	}
	if descriptor {
		list = append(list, embedded("python/descriptors.py"))
	}
	if wrapped {
		list = append(list, embedded("python/tritonkernels.py"))
	}
	return list
}

// utilities returns the imports of the functions that build the arguments, and then the functions.
func (w *work) utilities() []string {
	list := []string{imports(w.utilityFiles())}
	for _, f := range w.utilityFiles() {
		list = append(list, strings.TrimSpace(withoutImports(f)))
	}
	return list
}

var importLine = regexp.MustCompile(`(?m)^(?:import|from) .*\n`)

func withoutImports(code string) string {
	return strings.TrimLeft(importLine.ReplaceAllString(code, ""), "\n")
}

// imports returns the imports of several pieces of code, each once, Python's own first.
func imports(code []string) string {
	var own, others []string
	for _, c := range code {
		for _, line := range importLine.FindAllString(c, -1) {
			if strings.Contains(line, "torch") || strings.Contains(line, "triton") {
				others = append(others, line)
			} else {
				own = append(own, line)
			}
		}
	}
	slices.Sort(own)
	return strings.Join(unique(own), "") + "\n" + strings.Join(unique(others), "")
}
