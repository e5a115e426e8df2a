package compare

import "slices"

// pair is two lines that stand for each other, counted from 0; -1 where the other side has none.
type pair struct{ a, b int }

// align pairs the equal elements of two sequences, in order, and lists all others. It takes out what is equal at both ends,
// then splits at elements that both sides have once (patience), and gives what lies between to Myers's algorithm.
func align(a, b []uint64) []pair {
	x := aligner{a: a, b: b}
	x.between(0, len(a), 0, len(b))
	return x.pairs
}

func equalPairs(pairs []pair) int {
	n := 0
	for _, p := range pairs {
		if p.a >= 0 && p.b >= 0 {
			n++
		}
	}
	return n
}

type aligner struct {
	a, b  []uint64
	pairs []pair
}

func (x *aligner) between(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && x.a[a0] == x.b[b0] {
		x.pairs = append(x.pairs, pair{a0, b0})
		a0, b0 = a0+1, b0+1
	}
	tail := 0
	for a0 < a1-tail && b0 < b1-tail && x.a[a1-1-tail] == x.b[b1-1-tail] {
		tail++
	}
	x.middle(a0, a1-tail, b0, b1-tail)
	for i := tail; i > 0; i-- {
		x.pairs = append(x.pairs, pair{a1 - i, b1 - i})
	}
}

func (x *aligner) middle(a0, a1, b0, b1 int) {
	if a0 == a1 || b0 == b1 {
		x.replaced(a0, a1, b0, b1)
		return
	}
	anchors := x.anchors(a0, a1, b0, b1)
	if len(anchors) == 0 {
		x.myers(a0, a1, b0, b1)
		return
	}
	for _, p := range append(anchors, pair{a1, b1}) {
		x.between(a0, p.a, b0, p.b)
		if p.a < a1 && p.b < b1 {
			x.pairs = append(x.pairs, p)
		}
		a0, b0 = p.a+1, p.b+1
	}
}

func (x *aligner) replaced(a0, a1, b0, b1 int) {
	for i := a0; i < a1; i++ {
		x.pairs = append(x.pairs, pair{i, -1})
	}
	for i := b0; i < b1; i++ {
		x.pairs = append(x.pairs, pair{-1, i})
	}
}

// anchors are elements that each side has once, in the longest order that both agree on.
func (x *aligner) anchors(a0, a1, b0, b1 int) []pair {
	type count struct{ a, b, atB int }
	counts := map[uint64]*count{}
	for i := a0; i < a1; i++ {
		if counts[x.a[i]] == nil {
			counts[x.a[i]] = &count{}
		}
		counts[x.a[i]].a++
	}
	for i := b0; i < b1; i++ {
		if c := counts[x.b[i]]; c != nil {
			c.b++
			c.atB = i
		}
	}
	// The longest rising run of places in b, by piles (patience sorting).
	type card struct {
		pair
		below int // card on the pile before, -1 for none
	}
	var cards []card
	var tops []int
	for i := a0; i < a1; i++ {
		c := counts[x.a[i]]
		if c.a != 1 || c.b != 1 {
			continue
		}
		pile, _ := slices.BinarySearchFunc(tops, c.atB, func(top, b int) int { return cards[top].b - b })
		below := -1
		if pile > 0 {
			below = tops[pile-1]
		}
		cards = append(cards, card{pair{i, c.atB}, below})
		if pile == len(tops) {
			tops = append(tops, 0)
		}
		tops[pile] = len(cards) - 1
	}
	if len(tops) == 0 {
		return nil
	}
	anchors := make([]pair, len(tops))
	for k, at := len(tops)-1, tops[len(tops)-1]; k >= 0; k, at = k-1, cards[at].below {
		anchors[k] = cards[at].pair
	}
	return anchors
}

// mostEdits bounds what Myers's algorithm costs, in time and memory its square: beyond it two stretches have little in
// common, and none of it is shown.
const mostEdits = 1500

// myers finds a shortest edit script (Myers 1986), keeping the furthest points of each round to walk back through.
func (x *aligner) myers(a0, a1, b0, b1 int) {
	n, m := a1-a0, b1-b0
	most := min(n+m, mostEdits)
	v := make([]int, 2*most+3) // by diagonal + most + 1
	var rounds [][]int
	for d := 0; d <= most; d++ {
		rounds = append(rounds, slices.Clone(v[most+1-d:most+2+d]))
		for k := -d; k <= d; k += 2 {
			at := most + 1 + k
			i := v[at-1] + 1
			if k == -d || k != d && v[at-1] < v[at+1] {
				i = v[at+1]
			}
			for i < n && i-k < m && x.a[a0+i] == x.b[b0+i-k] {
				i++
			}
			v[at] = i
			if i >= n && i-k >= m {
				x.walkBack(rounds, a0, b0, n, m)
				return
			}
		}
	}
	x.replaced(a0, a1, b0, b1)
}

func (x *aligner) walkBack(rounds [][]int, a0, b0, n, m int) {
	var back []pair
	i, j := n, m
	for d := len(rounds) - 1; d > 0; d-- {
		v := rounds[d] // before round d: diagonals -d to d, those of round d-1 among them
		k := i - j
		get := func(k int) int {
			if k < -d || k > d {
				return -1
			}
			return v[k+d]
		}
		previous := k - 1
		if k == -d || k != d && get(k-1) < get(k+1) {
			previous = k + 1
		}
		pi := get(previous)
		pj := pi - previous
		for i > pi && j > pj {
			i, j = i-1, j-1
			back = append(back, pair{a0 + i, b0 + j})
		}
		if i > pi {
			i--
			back = append(back, pair{a0 + i, -1})
		} else if j > pj {
			j--
			back = append(back, pair{-1, b0 + j})
		}
	}
	for i > 0 && j > 0 {
		i, j = i-1, j-1
		back = append(back, pair{a0 + i, b0 + j})
	}
	slices.Reverse(back)
	x.pairs = append(x.pairs, back...)
}
