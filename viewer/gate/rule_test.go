package gate

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRules(t *testing.T) {
	tests := []struct {
		text string
		want Rule
	}{
		{"time > 5%", Rule{Metric: "time", Above: true, Kind: Relative, Amount: 0.05}},
		{"  time>5 %  ", Rule{Metric: "time", Above: true, Kind: Relative, Amount: 0.05}},
		{"tflop16/s < -3%", Rule{Metric: "tflop16/s", Kind: Relative, Amount: -0.03}},
		{"time > +2ms", Rule{Metric: "time", Above: true, Kind: Absolute, Amount: 2, Unit: "ms"}},
		{"time > 120 ms", Rule{Metric: "time", Above: true, Kind: Limit, Amount: 120, Unit: "ms"}},
		{"time > +1.5e3µs", Rule{Metric: "time", Above: true, Kind: Absolute, Amount: 1500, Unit: "us"}},
		{"util < 0.4", Rule{Metric: "util", Kind: Limit, Amount: 0.4}},
		{"my metric (MB) > 1GB", Rule{Metric: "my metric (MB)", Above: true, Kind: Limit, Amount: 1e9}},
		{"bytes > +3k", Rule{Metric: "bytes", Above: true, Kind: Absolute, Amount: 3000}},
		{"time > 0% @ total", Rule{Metric: "time", Above: true, Kind: Relative, Total: true}},
		{"time > 5% @ 'fwd/.*gemm'", Rule{Metric: "time", Above: true, Kind: Relative, Amount: 0.05}},
		{`count > 7 @"a b"`, Rule{Metric: "count", Above: true, Kind: Limit, Amount: 7}},
		{"time > 5%@gemm|mm", Rule{Metric: "time", Above: true, Kind: Relative, Amount: 0.05}},
	}
	scopes := map[int]string{10: "fwd/.*gemm", 11: "a b", 12: "gemm|mm"}
	for i, test := range tests {
		got, err := ParseRule(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		scope := ""
		if got.Scope != nil {
			scope = got.Scope.String()
		}
		got.Scope, got.Text = nil, ""
		if got != test.want || scope != scopes[i] {
			t.Errorf("%q is %+v @ %q, want %+v @ %q", test.text, got, scope, test.want, scopes[i])
		}
	}
}

func TestWrongRules(t *testing.T) {
	tests := []struct {
		text    string
		offset  int
		problem string
	}{
		{"", 0, "there is no > or <"},
		{"time 5%", 7, "there is no > or <"},
		{"> 5%", 0, "there is no metric"},
		{"time >= 5%", 6, "without ="},
		{"time > five", 7, "there is no number"},
		{"time > 1e999", 7, "there is no number"},
		{"time > 5 parsec", 9, `there is no unit "parsec"`},
		{"time > 5% or else", 10, `"or else" is too much`},
		{"time > 5% @", 11, "there is nothing behind @"},
		{"time > 5% @ ''", 12, "there is nothing behind @"},
		{"time > 5% @ 'gemm", 12, "the quote is not closed"},
		{"time > 5% @ '('", 12, "missing closing )"},
		{"time > 5% @ 'a' b", 16, `"b" is too much`},
		{"time > -5%", 7, "did you mean time < -5%?"},
		{"tflop/s < +5%", 10, "did you mean a fall, tflop/s < -5%?"},
		{"µ > x", 5, "there is no number"},
	}
	for _, test := range tests {
		_, err := ParseRule(test.text)
		var wrong *SyntaxError
		if !errors.As(err, &wrong) || wrong.Offset != test.offset || !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%q: %v at %+v, want %q at %d", test.text, err, wrong, test.problem, test.offset)
		}
	}
}

// FuzzParseRule looks for rules that crash the parser, and for rules that it takes though they would fail a run
// compared with itself.
func FuzzParseRule(f *testing.F) {
	for _, seed := range []string{"time > 5%", "tflop16/s < -3%", "time > +2ms @ 'a/b'", "util<.4@total", "x > 1e3GB", "µ\xff > 1% @ \"", "a > 5%%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err != nil {
			var wrong *SyntaxError
			if !errors.As(err, &wrong) || wrong.Offset < 0 || wrong.Offset > len(text) {
				t.Fatalf("%q: error %v", text, err)
			}
			return
		}
		if r.Metric == "" || r.Amount-r.Amount != 0 {
			t.Fatalf("%q was read as %+v", text, r)
		}
		for _, v := range []float64{0, 1, -1, 1e300} {
			if r.Kind != Limit && r.holds(v, v, r.Amount) {
				t.Fatalf("%q fails though %g did not change", text, v)
			}
		}
		if utf8.ValidString(text) {
			if again, err := ParseRule(r.Text); err != nil || again.Metric != r.Metric || again.Amount != r.Amount {
				t.Fatalf("%q is %+v, its text %q is %+v %v", text, r, r.Text, again, err)
			}
		}
	})
}
