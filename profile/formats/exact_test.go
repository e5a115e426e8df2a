package formats

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// numbers of a profile in which integers lie near the ends of the types that formats keep them in.
type numbers struct{ *rand.Rand }

func (r numbers) int() int64 {
	edges := []int64{1 << 53, math.MaxInt64, math.MinInt64, 5e18, 1 << 62, 1e15, 0}
	if r.IntN(3) == 0 {
		return int64(r.IntN(1000))
	}
	n := edges[r.IntN(len(edges))]
	return n + int64(r.IntN(7)) - 3 // wraps at the ends, to the other end
}

func (r numbers) value(mixed bool) profile.Value {
	switch kind := r.IntN(12); {
	case mixed && kind < 3:
		return profile.FloatValue([]float64{3.5, 2, 1e300, 0.001, 1 << 60}[r.IntN(5)])
	case mixed && kind == 3:
		return profile.StringValue([]string{"3", "[1 2]", "x", "\"", "1.5"}[r.IntN(5)])
	case mixed && kind == 4:
		return profile.IntsValue([]int64{r.int(), r.int()})
	case mixed && kind == 5:
		return profile.FloatsValue([]float64{2, 3.5})
	}
	return profile.IntValue(r.int())
}

// exactProfile is a tree whose metrics have integers of every size, alone and among other types, in several units.
func exactProfile(seed uint64) *profile.Profile {
	r := numbers{rand.New(rand.NewPCG(seed, 53))}
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{}}
	names := []string{"flops16", "bytes", "wall (s)", "time (ns)", "loss", "count", "time@rank1 (ns)", "ids"}
	mixed := map[string]bool{}
	for _, name := range names {
		mixed[name] = r.IntN(2) == 0
		p.Kinds[name] = profile.Kind(r.IntN(3))
	}
	nodes := []*profile.Node{p.Root}
	for i := range 8 {
		n := &profile.Node{Name: fmt.Sprint("n", i)}
		parent := nodes[r.IntN(len(nodes))]
		parent.Children = append(parent.Children, n)
		nodes = append(nodes, n)
		for _, name := range names {
			if r.IntN(3) > 0 {
				n.Set(name, r.value(mixed[name]))
			}
		}
	}
	return p
}

// values lists the numbers of a profile by path and metric, element by element.
func values(p *profile.Profile) map[string][]*big.Float {
	all := map[string][]*big.Float{}
	exact := func(v any) *big.Float {
		switch v := v.(type) {
		case int64:
			return new(big.Float).SetPrec(200).SetInt64(v)
		case float64:
			if math.IsNaN(v) {
				return nil
			}
			return new(big.Float).SetPrec(200).SetFloat64(v)
		}
		panic(v)
	}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, m := range n.Metrics {
			key := n.Name + "\x00" + m.Name
			switch v := m.Value; v.Type() {
			case profile.Int:
				all[key] = append(all[key], exact(v.Int()))
			case profile.Float:
				f, _ := v.Float()
				all[key] = append(all[key], exact(f))
			case profile.Ints:
				for _, n := range v.Ints() {
					all[key] = append(all[key], exact(n))
				}
			case profile.Floats:
				for _, f := range v.Floats() {
					all[key] = append(all[key], exact(f))
				}
			}
		}
		return true
	})
	return all
}

// TestIntegersStayExact converts profiles between every two formats. An integer of the first file is in the second one
// digit by digit, or a clause of Drops names its metric.
func TestIntegersStayExact(t *testing.T) {
	checked := 0
	for seed := range uint64(40) {
		first := exactProfile(seed)
		for _, from := range All() {
			if from.Write == nil || from.Holds&Tree == 0 {
				continue
			}
			p, err := roundTrip(from, exactProfile(seed))
			if err != nil {
				continue // an error loses nothing silently
			}
			checked += checkExact(t, fmt.Sprintf("profile %d to %s", seed, from.Name), first, p, from.Drops(first))
			for _, to := range All() {
				if to.Write == nil || to.Holds&Tree == 0 {
					continue
				}
				again, err := roundTrip(to, p)
				if err != nil {
					continue
				}
				checked += checkExact(t, fmt.Sprintf("profile %d as %s to %s", seed, from.Name, to.Name), p, again, to.Drops(p))
			}
			if t.Failed() {
				return
			}
		}
	}
	if checked < 10_000 {
		t.Errorf("only %d numbers were compared", checked)
	}
}

func checkExact(t *testing.T, what string, before, after *profile.Profile, drops []string) (checked int) {
	t.Helper()
	have := values(after)
	for key, want := range values(before) {
		name, metric, _ := strings.Cut(key, "\x00")
		got := have[key]
		same := len(got) == len(want)
		for i := range want {
			same = same && (want[i] == nil) == (got[i] == nil) && (want[i] == nil || got[i].Cmp(want[i]) == 0)
		}
		if same {
			checked++
			continue
		}
		said := false
		for _, d := range drops {
			said = said || strings.Contains(d, metric) || strings.Contains(d, "…)") || strings.Contains(d, "below zero or no number") && want[0] != nil && want[0].Sign() < 0
		}
		if zero := len(want) == 1 && want[0] != nil && want[0].Sign() == 0; !said && !(zero && got == nil) {
			t.Errorf("%s: %s of %s is %v, was %v, and no clause says so: %q", what, metric, name, got, want, drops)
		}
	}
	return checked
}

// TestIntegersBeyondAValue reads files with integers of 64 bits and more: reading rounds them, and converting says so.
func TestIntegersBeyondAValue(t *testing.T) {
	for digits, rounded := range map[string]bool{
		"9223372036854775807": false, "9223372036854775808": false, "9223372036854775809": true, "-9223372036854775809": true,
		"18446744073709551615": true, "18446744073709551616": false, "36893488147419103233": true, "1e30": false, "123456789012345678901234567890": true,
		"[9007199254740993, 0.5]": true, "[9007199254740992, 0.5]": false, "[9007199254740993, 5]": false,
	} {
		p, err := Read(kernel(`"x":` + digits))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range All() {
			if f.Holds&Tree == 0 || f.Holds&Vectors == 0 && strings.HasPrefix(digits, "[") {
				continue
			}
			if said := strings.Contains(strings.Join(f.Drops(p), "\n"), "beyond 63 bits"); said != rounded {
				t.Errorf("%s to %s: said %v, want %v", digits, f.Name, said, rounded)
			}
		}
	}
	pack := []byte("\x91\x82\xa5frame\x81\xa4name\xa1k\xa7metrics\x81\xa1x\xcf\xff\xff\xff\xff\xff\xff\xff\xff")
	if p, err := Read(bytes.NewReader(pack)); err != nil || p.Rounded != 1 {
		t.Errorf("2^64-1 as MessagePack: %v %+v", err, p)
	}
}
