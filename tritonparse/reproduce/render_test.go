package reproduce

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// renderCase is a kernel whose name, as its repr gives it, fits into no file's name and no Python text as it stands.
const renderCase = `
-- kernel.py --
@triton.jit(repr=name)
def k(x):
    pass
-- compilation.json --
{"payload": {"metadata": {"name": "it's \"k\"\n\u0000\\"}}}
-- launch.json --
{"name": "it's \"k\"\n\u0000\\", "grid": [1], "extracted_args": {"x": {"type": "int", "value": 3}}}
`

// TestTemplates: a template may come from Windows, end without a line's end, and use either kind of quotes.
func TestTemplates(t *testing.T) {
	python := findPython(t)
	template := strings.Join([]string{
		`'''{{REPRODUCER_METADATA_PLACEHOLDER}}'''`, `"""{{REPRODUCER_METADATA_PLACEHOLDER}}"""`, `# {{UTILITY_FUNCTIONS_PLACEHOLDER}}`,
		`# {{KERNEL_IMPORT_PLACEHOLDER}}`, `print('{{KERNEL_NAME_PLACEHOLDER}}' == "{{KERNEL_NAME_PLACEHOLDER}}")`,
		`# {{LAUNCH_KERNEL_BODY_PLACEHOLDER}}`, `# {{KERNEL_INVOCATION_PLACEHOLDER}}`,
	}, "\r\n")
	file := filepath.Join(t.TempDir(), "mine.py")
	if err := os.WriteFile(file, []byte(template), 0o666); err != nil {
		t.Fatal(err)
	}
	c := newCase(t, txtar.Parse([]byte(renderCase+"-- flags --\ntemplate="+file+"\n")))
	result, err := c.generate(t, python)
	if err != nil {
		t.Fatal(err)
	}
	if out := runScript(t, python, result.Script, c.work); !strings.HasPrefix(out, "True\nlaunch k (1,)") {
		t.Errorf("the script says\n%s", out)
	}

	c = newCase(t, txtar.Parse([]byte(renderCase+"-- flags --\nembed template="+file+"\n")))
	if _, err := c.generate(t, python); err == nil || !strings.Contains(err.Error(), "no line # {{CONTEXT_JSON_PLACEHOLDER}}") {
		t.Errorf("one file of a template that has no place for the launch: %v", err)
	}
}

// guideOrder is the order of placeholders in the template that TritonParse's guide shows: what builds arguments comes last.
const guideOrder = `import torch

# {{IR_OVERRIDE_SETUP_PLACEHOLDER}}

# {{KERNEL_SYSPATH_PLACEHOLDER}}

# {{KERNEL_IMPORT_PLACEHOLDER}}

# {{UTILITY_FUNCTIONS_PLACEHOLDER}}


def run_kernel():
    from pathlib import Path
    grid, args_dict = create_args_from_json_file(str(Path(__file__).resolve().parent / "{{JSON_FILE_NAME_PLACEHOLDER}}"))
    # {{KERNEL_INVOCATION_PLACEHOLDER}}


run_kernel()
`

// TestGuideOrder: with each way to get the kernel, its code needs nothing that stands behind it.
func TestGuideOrder(t *testing.T) {
	python := findPython(t)
	file := filepath.Join(t.TempDir(), "guide.py")
	if err := os.WriteFile(file, []byte(guideOrder), 0o666); err != nil {
		t.Fatal(err)
	}
	const tuned = `@triton.autotune(configs=[triton.Config({"B": 2})], key=[])
@triton.jit
def k(x, B: tl.constexpr):
    pass
`
	const files = `
-- kernel.ttir --
module {}
-- compilation.json --
{"payload": {"python_source": {"file_path": "$WORK/kernel_file.py", "start_line": 3}}}
-- launch.json --
{"grid": [1], "extracted_args": {"x": {"type": "int", "value": 3}, "B": {"type": "int", "value": 2}}}
`
	for _, flags := range []string{"copy", "copy preserve", "default", "default preserve", "override-ttir"} {
		text := files + "-- kernel_file.py --\nimport triton\nimport triton.language as tl\n" + tuned + "-- kernel.py --\n" + tuned +
			"-- flags --\n" + flags + " template=" + file + "\n"
		c := newCase(t, txtar.Parse([]byte(text)))
		result, err := c.generate(t, python)
		if err != nil {
			t.Errorf("%s: %v", flags, err)
			continue
		}
		if out := runScript(t, python, result.Script, c.work); !strings.HasPrefix(out, "launch k (1,) \n  x = 3\n  B = 2\n") {
			t.Errorf("%s: the script says\n%s", flags, out)
		}
	}
}
