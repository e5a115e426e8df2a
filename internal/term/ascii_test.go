package term

import "testing"

func TestASCIILocale(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"C", "", "en_US.UTF-8", true}, {"", "POSIX", "", true}, {"", "", "C", true},
		{"", "", "", false}, {"C.UTF-8", "", "C", false}, {"", "en_US.UTF-8", "C", false},
	} {
		env := map[string]string{"LC_ALL": c.all, "LC_CTYPE": c.ctype, "LANG": c.lang}
		if got := ASCIILocale(func(name string) string { return env[name] }); got != c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
}
