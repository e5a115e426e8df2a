package compat

import "math"

// side says which of two compared profiles has a frame.
type side uint8

const (
	both side = iota
	onlyLeft
	onlyRight
)

// subtract takes another table's cells from t's, frame by frame along equal paths. A frame that only one
// profile has keeps what it has and is marked: values on the left, nothing (nan) on the right.
func (t *table) subtract(other *table) { subtractRow(t.root, other.root) }

func subtractRow(left, right *row) {
	for i, v := range right.cells {
		if d := left.cells[i] - v; !math.IsNaN(d) {
			left.cells[i] = d
		}
	}
	left.children = subtractChildren(left.children, right.children)
}

// subtractChildren walks two lists in order of name.
func subtractChildren(left, right []*row) []*row {
	var all []*row
	for len(left) > 0 || len(right) > 0 {
		switch {
		case len(right) == 0 || len(left) > 0 && left[0].name < right[0].name:
			left[0].each(func(r *row) { r.side = onlyLeft })
			all, left = append(all, left[0]), left[1:]
		case len(left) == 0 || right[0].name < left[0].name:
			right[0].each(func(r *row) {
				r.side = onlyRight
				for i := range r.cells {
					r.cells[i] = missing
				}
			})
			all, right = append(all, right[0]), right[1:]
		default:
			subtractRow(left[0], right[0])
			all, left, right = append(all, left[0]), left[1:], right[1:]
		}
	}
	return all
}
