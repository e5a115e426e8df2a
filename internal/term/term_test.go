package term

import (
	"bytes"
	"os"
	"testing"
)

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestColorOffATerminal(t *testing.T) {
	var buffer bytes.Buffer
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, out := range []any{&buffer, null} {
		for mode, want := range map[string]bool{"auto": false, "": false, "always": true, "never": false} {
			if got, err := Color(mode, out, env(nil)); err != nil || got != want {
				t.Errorf("--color=%s on %T: %v %v, want %v", mode, out, got, err, want)
			}
		}
	}
	if _, err := Color("sometimes", &buffer, env(nil)); err == nil {
		t.Error("--color=sometimes was accepted")
	}
}

func TestColorOnATerminal(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("needs pseudo terminals:", err)
	}
	defer tty.Close()
	tests := []struct {
		mode string
		env  map[string]string
		want bool
	}{
		{"auto", nil, true},
		{"auto", map[string]string{"NO_COLOR": "1"}, false},
		{"auto", map[string]string{"TERM": "dumb"}, false},
		{"always", map[string]string{"NO_COLOR": "1"}, true},
		{"never", nil, false},
	}
	for _, test := range tests {
		if got, err := Color(test.mode, tty, env(test.env)); err != nil || got != test.want {
			t.Errorf("--color=%s with %v: %v %v, want %v", test.mode, test.env, got, err, test.want)
		}
	}
}
