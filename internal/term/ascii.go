package term

import (
	"cmp"
	"strings"
)

// ASCIILocale says whether the environment asks for text without characters outside ASCII: the locale is C or POSIX. An
// environment without a locale does not ask for anything; most containers have none, and their terminals show UTF-8.
func ASCIILocale(getenv func(string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	return locale == "C" || strings.HasPrefix(locale, "POSIX")
}
