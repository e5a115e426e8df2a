package ttir

// dominance checks that every value is defined before it is used, on all ways to the use.
type dominance struct {
	v       *verifier
	regions int32
	defined []place         // by value
	now     map[int32]place // where the regions around an operation are
	above   map[int32][]int // of regions with several blocks: the immediate dominator of each block; -1 of one that cannot be reached
}

// place is an operation of a block of a region; 0 are the block's arguments.
type place struct{ region, block, at int32 }

// maxBlocks bounds the time of the check, which grows with their square.
const maxBlocks = 1 << 12

func (v *verifier) dominance() {
	d := &dominance{v: v, defined: make([]place, len(v.f.Values)), now: map[int32]place{}, above: map[int32][]int{}}
	d.regions = 0
	d.define(&v.f.Body)
	d.regions = 0
	d.use(&v.f.Body)
}

func (d *dominance) set(values []Value, at place) {
	for _, o := range values {
		d.defined[o] = at
	}
}

// define notes where values are defined. Regions are numbered in the order in which they are visited, from 1.
func (d *dominance) define(r *Region) {
	d.regions++
	id := d.regions
	for b := range r.Blocks {
		block := &r.Blocks[b]
		d.set(block.Arguments, place{id, int32(b), 0})
		for i := range block.Ops {
			d.set(block.Ops[i].Results, place{id, int32(b), int32(i + 1)})
			for n := range block.Ops[i].Regions {
				d.define(&block.Ops[i].Regions[n])
			}
		}
	}
}

func (d *dominance) use(r *Region) {
	d.regions++
	id := d.regions
	if len(r.Blocks) > maxBlocks {
		d.v.fail("a region has %d blocks; %d are checked", len(r.Blocks), maxBlocks)
		return
	}
	if len(r.Blocks) > 1 {
		d.above[id] = dominators(r)
	}
	for b := range r.Blocks {
		for i := range r.Blocks[b].Ops {
			op := &r.Blocks[b].Ops[i]
			d.now[id] = place{id, int32(b), int32(i + 1)}
			d.v.op = op
			d.operands(op.Operands)
			for _, s := range op.Successors {
				d.operands(s.Arguments)
			}
			for n := range op.Regions {
				d.use(&op.Regions[n])
			}
		}
	}
	delete(d.now, id)
}

func (d *dominance) operands(list []Value) {
	for _, o := range list {
		if o == NoValue || !d.v.f.Values[o].defined {
			continue // Problems has it
		}
		def := d.defined[o]
		if now, around := d.now[def.region]; !around || !d.before(def, now) {
			d.v.fail("%%%s is used before it is defined", d.v.f.Values[o].Name)
		}
	}
}

func (d *dominance) before(def, now place) bool {
	if def.block == now.block {
		return def.at < now.at
	}
	above := d.above[def.region]
	if above[now.block] < 0 { // no way leads there
		return true
	}
	for b := int(now.block); b != 0; {
		if b = above[b]; b == int(def.block) {
			return true
		}
	}
	return false
}

// dominators returns, for each block of a region, the nearest block that all ways to it go through (Cooper, Harvey and Kennedy's
// algorithm); -1 for a block that cannot be reached.
func dominators(r *Region) []int {
	order, number := reachable(r)
	before := make([][]int, len(r.Blocks))
	for _, b := range order {
		for _, s := range successors(&r.Blocks[b]) {
			before[s.Block] = append(before[s.Block], b)
		}
	}
	above := make([]int, len(r.Blocks))
	for i := range above {
		above[i] = -1
	}
	above[0] = 0
	for changed := true; changed; {
		changed = false
		for i := len(order) - 2; i >= 0; i-- { // not the first block, which is last in the order
			b, best := order[i], -1
			for _, p := range before[b] {
				switch {
				case above[p] < 0:
				case best < 0:
					best = p
				default:
					for best != p {
						for number[best] < number[p] {
							best = above[best]
						}
						for number[p] < number[best] {
							p = above[p]
						}
					}
				}
			}
			if above[b] != best {
				above[b], changed = best, true
			}
		}
	}
	return above
}

func successors(b *Block) []Successor {
	if n := len(b.Ops); n > 0 {
		return b.Ops[n-1].Successors
	}
	return nil
}

// reachable returns the blocks that can be reached, each after those that follow it, and their places in this order.
func reachable(r *Region) (order, number []int) {
	number = make([]int, len(r.Blocks))
	seen := make([]bool, len(r.Blocks))
	type visit struct{ block, next int }
	stack := []visit{{0, 0}}
	seen[0] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if next := successors(&r.Blocks[top.block]); top.next < len(next) {
			to := next[top.next].Block
			if top.next++; !seen[to] {
				seen[to] = true
				stack = append(stack, visit{to, 0})
			}
			continue
		}
		number[top.block] = len(order)
		order = append(order, top.block)
		stack = stack[:len(stack)-1]
	}
	return order, number
}
