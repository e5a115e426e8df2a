// Package term answers what commands ask about the terminal they print to, so that everything below them can
// take colour as a plain value.
package term

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/goproton/goproton/internal/foreign"
)

// ColorModes are the values of a --color flag.
const ColorModes = "auto, always or never"

// ColorWords are the same, one by one.
var ColorWords = []string{"auto", "always", "never"}

// Color turns a --color flag into a decision: "always", "never", or "auto", which means colour on a terminal
// unless NO_COLOR is set to anything or TERM is "dumb" (https://no-color.org).
func Color(mode string, out any, getenv func(string) string) (bool, error) {
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto", "":
		return IsTerminal(out) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb", nil
	}
	return false, fmt.Errorf("read --color %q: use %s", mode, ColorModes)
}

// IsTerminal says whether out is a file that is a terminal.
func IsTerminal(out any) bool {
	f, ok := file(out)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns how many columns a terminal has, 0 for what is none.
func Width(out any) int {
	f, ok := file(out)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// file is the file that a writer or reader is, perhaps behind an Output.
func file(out any) (*os.File, bool) {
	if o, ok := out.(*Output); ok {
		out = o.out
	}
	f, ok := out.(*os.File)
	return f, ok
}

// ASCIILocale says whether the environment asks for text without characters outside ASCII: the locale is C or POSIX. An
// environment without a locale does not ask for anything; most containers have none, and their terminals show UTF-8.
func ASCIILocale(getenv func(string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	return locale == "C" || strings.HasPrefix(locale, "POSIX")
}

// Printable returns a name as it may be sent to a terminal. Package foreign says how.
func Printable(name string) string { return foreign.Printable(name) }
