package reproduce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// keywords of Python, which are not names. Those that are keywords only in some places (match, type) are names elsewhere.
var keywords = strings.Fields(`False None True and as assert async await break class continue def del elif else except finally
	for from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// letters are those beyond ASCII that identifiers may have. All versions of Python take them, and its normalisation (NFKC)
// leaves them as they are: with others, two names that differ here could be one name there.
var letters = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00c0, 0x00d6, 1}, {0x00d8, 0x00f6, 1}, {0x00f8, 0x0131, 1}, // Latin
		{0x0391, 0x03a1, 1}, {0x03a3, 0x03a9, 1}, {0x03b1, 0x03c9, 1}, // Greek
		{0x0410, 0x044f, 1},                                           // Cyrillic
		{0x3041, 0x3096, 1}, {0x30a1, 0x30fa, 1}, {0x4e00, 0x9fa5, 1}, // kana, Han
	},
	LatinOffset: 2,
}

// isIdentifier says whether a text is a name in Python: letters, digits and underscores, not a digit first, not a keyword.
func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || unicode.Is(letters, r)
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && !slices.Contains(keywords, s)
}

// isDotted says whether a text is a name in Python with dots: of a module, or of something in a class.
func isDotted(s string) bool {
	return !slices.ContainsFunc(strings.Split(s, "."), func(part string) bool { return !isIdentifier(part) })
}

// isBuiltin says whether Python gives a name a meaning in every file. A script that binds it anew changes what its own code
// does: print and open among them.
func isBuiltin(name string) bool {
	return slices.Contains(builtins, name) || strings.HasPrefix(name, "__")
}

var builtins = strings.Fields(`ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
	BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError
	DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup FileExistsError FileNotFoundError
	FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError InterruptedError
	IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplemented
	NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError
	RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning
	SystemError SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError
	UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError abs aiter all anext any ascii bin bool breakpoint
	bytearray bytes callable chr classmethod compile complex copyright credits delattr dict dir divmod enumerate eval exec exit filter float
	format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len license list locals map max memoryview
	min next object oct open ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple
	type vars zip`)

var torchType = regexp.MustCompile(`^torch\.(bool|half|float|double|short|int|long|chalf|cfloat|cdouble|` +
	`(b?float|complex|u?int|qu?int|bits)\d{1,3}(x\d{1,2}|_[a-z0-9_]{1,16})?)$`)

// isTorchType says whether a text names an element type of torch's, such as torch.float8_e4m3fn.
func isTorchType(s string) bool { return torchType.MatchString(s) }

var tritonType = regexp.MustCompile(`^(void|u?int(1|8|16|32|64)|bf16|fp(16|32|64|8e\d\w{1,8}))$`)

// isTritonType says whether a text names an element type of Triton's, such as fp8e4nv.
func isTritonType(s string) bool { return tritonType.MatchString(s) }

var deviceKind = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// kindOfDevice returns the kind of a device that torch's notation names: cuda of cuda:3. It is false for other texts.
func kindOfDevice(s string) (kind string, ok bool) {
	kind, ordinal, _ := strings.Cut(s, ":")
	ok = deviceKind.MatchString(kind) && isIdentifier(kind) && strings.Trim(ordinal, "0123456789") == ""
	return kind, ok
}

// pythonQuote returns a text as a Python literal in one line.
func pythonQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// inPythonQuotes returns the inside of a Python literal. Single, double and threefold quotes may stand around it, and an f before
// them.
func inPythonQuotes(s string) string {
	s = pythonQuote(s)
	return strings.NewReplacer("'", `\'`, "{", `\x7b`, "}", `\x7d`).Replace(s[1 : len(s)-1])
}

const (
	deepestLiteral = 50  // levels of lists and objects; Python's parser takes 100 brackets
	longestNumber  = 400 // characters; Python reads at most 4,300 digits
)

// pythonLiteral returns a JSON value as Python writes it. The texts nan, inf and -inf are numbers, for which JSON has no other way.
// It is false for what is not one JSON value, and for values that Python would refuse to read: too deep, or with numbers that
// are too long.
func pythonLiteral(raw []byte) (string, bool) {
	if len(raw) == 0 {
		return "None", true
	}
	text, _, ok := literal(raw)
	return text, ok
}

// pythonTuple is pythonLiteral with round brackets around the elements of a list.
func pythonTuple(raw []byte) (string, bool) {
	text, n, ok := literal(raw)
	if !ok || text == "" || text[0] != '[' {
		return pythonLiteral(raw)
	}
	if text = text[1 : len(text)-1]; n == 1 {
		text += ","
	}
	return "(" + text + ")", true
}

// literal also counts the elements of a list.
func literal(raw []byte) (text string, n int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	w := pythonWriter{tokens: d}
	if n, ok = w.value(deepestLiteral); ok {
		_, err := d.Token()
		ok = err == io.EOF
	}
	return w.text.String(), n, ok
}

// pythonWriter writes the tokens of JSON as Python.
type pythonWriter struct {
	tokens *json.Decoder
	text   strings.Builder
}

func (w *pythonWriter) value(depth int) (n int, ok bool) {
	token, err := w.tokens.Token()
	if err != nil {
		return 0, false
	}
	switch v := token.(type) {
	case nil:
		w.text.WriteString("None")
	case bool:
		w.text.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case json.Number:
		w.text.WriteString(v.String())
		return 0, len(v) <= longestNumber
	case string:
		if v == "nan" || v == "inf" || v == "-inf" {
			w.text.WriteString(`float("` + v + `")`)
		} else {
			w.text.WriteString(pythonQuote(v))
		}
	case json.Delim:
		return w.container(v, depth)
	}
	return 0, true
}

// container writes a list or an object, whose opening bracket has been read.
func (w *pythonWriter) container(open json.Delim, depth int) (n int, ok bool) {
	if depth == 0 {
		return 0, false
	}
	w.text.WriteRune(rune(open))
	for ; w.tokens.More(); n++ {
		if n > 0 {
			w.text.WriteString(", ")
		}
		if open == '{' {
			name, err := w.tokens.Token()
			if err != nil {
				return n, false
			}
			w.text.WriteString(pythonQuote(name.(string)) + ": ")
		}
		if _, ok := w.value(depth - 1); !ok {
			return n, false
		}
	}
	end, err := w.tokens.Token()
	if err != nil {
		return n, false
	}
	w.text.WriteRune(rune(end.(json.Delim)))
	return n, true
}
