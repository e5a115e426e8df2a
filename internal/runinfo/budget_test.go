package runinfo

import (
	"math"
	"strings"
	"testing"
)

func TestParseBudget(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "1%": 0.01, " 0.5 % ": 0.005, "1e-3%": 0.00001, "99.9%": 0.999, "+2%": 0.02} {
		if got, err := ParseBudget(text); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%q: %g, %v", text, got, err)
		}
	}
	for _, text := range []string{"0", "0%", "1", "100%", "200%", "-1%", "x", "x%", "%", "1%%", "NaN%", "inf%", " ", "1 percent"} {
		if got, err := ParseBudget(text); err == nil || got != 0 || !strings.Contains(err.Error(), "such as 1%") {
			t.Errorf("%q: %g, %v", text, got, err)
		}
	}
}
