package reproduce

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// readBack has Python read literals, and say for each whether it is what JSON says; and for each name whether it is one.
const readBack = `
import ast, json, sys, unicodedata, keyword, builtins
def same(a, b):
    if isinstance(a, str) and a in ("nan", "inf", "-inf"):
        return repr(float(a)) == repr(b)
    if isinstance(a, list):
        return type(b) in (list, tuple) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return type(b) is dict and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b
class Numbers(ast.NodeTransformer):
    def visit_Call(self, node):
        assert node.func.id == "float" and node.args[0].value in ("nan", "inf", "-inf")
        return ast.Constant(float(node.args[0].value))
for line in sys.stdin:
    kind, text, want = json.loads(line)
    if kind == "literal":
        ok = same(json.loads(want), ast.literal_eval(Numbers().visit(ast.parse(text, mode="eval")).body))
    elif kind == "quotes":
        ok = all(ast.literal_eval(q + text + q) == want for q in ("'", '"', "'''", '"""')) and eval("f'" + text + "'") == want
    elif kind == "name":
        ok = text.isidentifier() and not keyword.iskeyword(text) and unicodedata.normalize("NFKC", text) == text
    elif kind == "builtin":
        ok = hasattr(builtins, text)
    if not ok:
        print(kind, repr(text), repr(want))
`

// TestLiteralsInPython writes random values as Python, and has Python read them.
func TestLiteralsInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on PATH")
	}
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"'", `"`, `\`, "\n", "\r", "{", "}", "a", "nan", "inf", "-inf", "\x00", "\u2028", "é", "😀", "#", "\\N{", "\t", " ", "1", "__import__", "()", "\u202e"}
	text := func() string {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	var value func(depth int) any
	value = func(depth int) any {
		switch n := r.IntN(8); {
		case n < 2 && depth > 0:
			list := []any{}
			for range r.IntN(4) {
				list = append(list, value(depth-1))
			}
			return list
		case n == 2 && depth > 0:
			return map[string]any{text(): value(depth - 1), text(): value(depth - 1)}
		case n == 3:
			return []any{nil, true, false, 1, -1, 18446744073709551615.0, 1e-300, int64(-1 << 63)}[r.IntN(8)]
		}
		return text()
	}
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	for range 5000 {
		raw, err := json.Marshal(value(4))
		if err != nil {
			t.Fatal(err)
		}
		for _, write := range []func([]byte) (string, bool){pythonLiteral, pythonTuple} {
			written, ok := write(raw)
			if !ok {
				t.Fatalf("%s is refused", raw)
			}
			if err := encoder.Encode([]string{"literal", written, string(raw)}); err != nil {
				t.Fatal(err)
			}
		}
		s := text()
		if err := encoder.Encode([]string{"quotes", inPythonQuotes(s), s}); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range letters.R16 {
		for c := rune(table.Lo); c <= rune(table.Hi); c++ {
			if err := encoder.Encode([]string{"name", string(c), ""}); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(python, "-I", "-c", readBack)
	cmd.Stdin = &input
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%.2000s", err, out)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"x": true, "_": true, "x1": true, "größe": true, "α": true, "match": true,
		"": false, "1x": false, "x y": false, "x.y": false, "lambda": false, "None": false, "x\n": false, "ſys": false, "ﬁ": false, "x:y": false, "\xff": false,
	} {
		if got := isIdentifier(name); got != want {
			t.Errorf("IsIdentifier(%q) is %v", name, got)
		}
	}
	for device, want := range map[string]bool{"cuda": true, "cuda:3": true, "xpu": true, "cuda:x": false, "cuda and f()": false, "": false, "import": false} {
		if _, ok := kindOfDevice(device); ok != want {
			t.Errorf("Device(%q) is %v", device, ok)
		}
	}
	for name, want := range map[string]bool{
		"torch.float16": true, "torch.float8_e4m3fn": true, "torch.float4_e2m1fn_x2": true, "torch.bool": true, "torch.uint7": true, "torch.complex64": true,
		"torch.load": false, "torch.float16 if f() else 0": false, "float16": false, "torch.hub": false,
	} {
		if got := isTorchType(name); got != want {
			t.Errorf("IsTorchType(%q) is %v", name, got)
		}
	}
	for _, deep := range []string{strings.Repeat("[", 60) + strings.Repeat("]", 60), strings.Repeat("9", 5000), "1 2", "{", "nope", "01"} {
		if text, ok := pythonLiteral([]byte(deep)); ok {
			t.Errorf("Literal(%.20s) is %.20s", deep, text)
		}
	}
}
