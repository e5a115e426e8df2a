package record

import "testing"

// The number of a block is that of the loops over z, y and x, the last one innermost.
func TestPlaceOfABlock(t *testing.T) {
	for _, size := range [][3]uint32{{3, 4, 5}, {1, 1, 2}, {1, 7, 1}, {1<<31 - 1, 2, 1}, {2, 65535, 3}} {
		grid := Grid(size[0]) | Grid(size[1])<<31 | Grid(size[2])<<47
		for z := range size[2] {
			for y := range size[1] {
				for x := range min(size[0], 4) {
					block := z*size[1]*size[0] + y*size[0] + x
					if at, is := grid.Place(block); !is || at != [3]uint32{x, y, z} {
						t.Fatalf("block %d of %v is at %v, %v; want %d %d %d", block, size, at, is, x, y, z)
					}
				}
			}
		}
	}
	for _, grid := range []Grid{0, 8 | 1<<31 | 1<<47} {
		if at, is := grid.Place(5); is {
			t.Errorf("block 5 of %d is at %v", grid, at)
		}
	}
}
