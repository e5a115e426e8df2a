package work

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// compatWork is what tritonparse 0.6.0 makes of a kernel's TTIR: each tt.load and tt.store once, whatever loop it is in, and
// the first tt.dot.
type compatWork struct {
	known       bool // all lines could be read
	load, store int64
	gemm        bool
	flops       int64 // of the first dot; negative if there is none
	notes       []string
}

var pointerTensor = regexp.MustCompile(`^tensor<([0-9]+(?:x[0-9]+)*)x!tt\.ptr<([A-Za-z0-9_]+)>>$`)

func readCompatWork(text string) compatWork {
	w := compatWork{known: true, flops: -1}
	accesses := false
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if !strings.Contains(line, "tt.load") && !strings.Contains(line, "tt.store") {
			continue
		}
		accesses = true
		w.access(line)
	}
	if strings.Contains(text, "tt.atomic") {
		w.notes = append(w.notes, "atomics present but not counted in bytes_moved_per_cta")
	}
	if !accesses {
		w.notes = append(w.notes, "no tt.load/tt.store found")
	}
	w.dot(text)
	return w
}

func (w *compatWork) access(line string) {
	parts := strings.Split(line, " : ")
	kind, _, _ := strings.Cut(parts[len(parts)-1], " loc")
	m := pointerTensor.FindStringSubmatch(strings.TrimSpace(kind))
	if m == nil {
		w.known = false
		w.notes = append(w.notes, "unparseable io line: "+cutRunes(strings.TrimSpace(line), 160))
		return
	}
	bits, ok := TypeBits(m[2])
	if !ok || bits%8 != 0 {
		w.known = false
		w.notes = append(w.notes, "unknown or sub-byte dtype on io line: "+m[2])
		return
	}
	size := int64(bits / 8)
	for _, d := range strings.Split(m[1], "x") {
		n, _ := strconv.ParseInt(d, 10, 64)
		size *= n
	}
	if strings.Contains(line, "tt.store") {
		w.store += size
	} else {
		w.load += size
	}
}

func cutRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

func (w *compatWork) dot(text string) {
	dots := strings.Count(text, "tt.dot")
	if w.gemm = dots > 0; !w.gemm {
		return
	}
	shape := DotShape(text)
	m, okM := shape.Number("tile_m")
	n, okN := shape.Number("tile_n")
	k, okK := shape.Number("tile_k")
	if !okM || !okN || !okK {
		w.notes = append(w.notes, "tt.dot present but dot shape unextractable; flops_per_cta=null")
		return
	}
	if dots > 1 {
		w.notes = append(w.notes, fmt.Sprintf("%d tt.dot found; flops_per_cta counts first dot only", dots))
	}
	w.flops = 2 * int64(m) * int64(n) * int64(k)
	w.notes = append(w.notes, "gemm flops/intensity omit the runtime reduction-loop trip count (lower bound)")
}

func (w *compatWork) Summary() Summary {
	s := Summary{Gemm: w.gemm, Bytes: -1, Flops: w.flops, notes: w.notes}
	if w.known {
		s.load, s.store, s.Bytes = w.load, w.store, w.load+w.store
	}
	return s
}

func (w *compatWork) Estimate(k *Kind) Estimate {
	e := newEstimate(k)
	n, ok := k.programs()
	if !ok {
		return e
	}
	e.programs = n
	if w.known {
		e.FromIR = n * (w.load + w.store)
	}
	if w.flops >= 0 {
		e.Flops = n * w.flops
	}
	return e
}
