package figures

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	want := strings.Fields("a rank rank0 rank2 rank2.node9 rank2.node10 rank9 rank010 rank10 rank99999999999999999999998 rank99999999999999999999999 ranks")
	got := slices.Clone(want)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, Natural)
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// It is an order: only equal texts are equal, and the three orders of any three texts agree.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	text := func() string {
		var b strings.Builder
		for range r.IntN(5) {
			b.WriteString([]string{"a", "b", "0", "00", "7", fmt.Sprint(r.IntN(200))}[r.IntN(6)])
		}
		return b.String()
	}
	for range 20_000 {
		a, b, c := text(), text(), text()
		if (Natural(a, b) == 0) != (a == b) || Natural(a, b) != -Natural(b, a) {
			t.Fatalf("%q and %q: %d and %d", a, b, Natural(a, b), Natural(b, a))
		}
		if Natural(a, b) < 0 && Natural(b, c) < 0 && Natural(a, c) >= 0 {
			t.Fatalf("%q < %q < %q, but the first is not below the last", a, b, c)
		}
	}
}
