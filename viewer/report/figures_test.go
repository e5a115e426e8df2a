package report

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/figures"
)

// TestNumbersOfThePage compares web/format.js with package figures: a value reads the same on the page and in the terminal, but for
// the commas of the page.
func TestNumbersOfThePage(t *testing.T) {
	type written struct {
		Value  float64
		Number string
		Amount map[string]string // by unit
		Share  string
		Change string
	}
	values := []float64{0, 1, -1, 999, 1000, 999.4, 999.94, 999.96, 999.996, 0.9999996, 123456789, -2048.25, 0.0004, 0.0005, -0.0004, 12.25}
	r := rand.New(rand.NewPCG(4, 5))
	for power := -5; power < 15; power++ {
		for range 40 {
			values = append(values, (r.Float64()*0.9+0.1)*math.Pow10(power), -(r.Float64()*0.9+0.1)*math.Pow10(power), float64(r.IntN(10_000)))
		}
	}
	arguments, _ := json.Marshal(values)
	out := node(t, "--input-type=module", "-e", `
		import {number, percent, quantity} from "./format.js";
		const units = ["ns", "B", "B/s", "flop", "flop/s", "flop/B", "", "cycles"];
		console.log(JSON.stringify(JSON.parse(process.argv[1]).map((v) => ({Value: v, Number: number(v), Share: percent(v), Change: percent(v, true),
			Amount: Object.fromEntries(units.map((u) => [u, quantity(v, u)]))}))));`, string(arguments))
	var page []written
	if err := json.Unmarshal(out, &page); err != nil || len(page) != len(values) {
		t.Fatalf("%d values: %v\n%s", len(page), err, out)
	}
	for i, p := range page {
		v := values[i]
		check := func(what, got, want string) {
			if got = strings.ReplaceAll(got, ",", ""); got != want {
				t.Errorf("%s of %v is %q on the page, want %q", what, v, got, want)
			}
		}
		check("number", p.Number, figures.Number(v))
		if math.Abs(v) < 1e6 { // JavaScript rounds halves up, Go to even; larger shares can be halves
			check("share", p.Share, figures.Share(v))
			check("change", p.Change, figures.Change(v))
		}
		for unit, got := range p.Amount {
			check("amount in "+unit, got, figures.Amount(v, unit))
		}
	}
}
