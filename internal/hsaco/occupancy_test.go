package hsaco

import (
	"encoding/csv"
	"os"
	"strconv"
	"testing"

	"github.com/goproton/goproton/internal/gpucode"
)

// TestOccupancyAsLLVMComputesIt: testdata/occupancy.csv has what llc says of kernels, as waves of a SIMD.
func TestOccupancyAsLLVMComputesIt(t *testing.T) {
	file, err := os.Open("testdata/occupancy.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[1:] {
		var n [8]int
		for i := 1; i < len(r); i++ {
			n[i], _ = strconv.Atoi(r[i])
		}
		k := kernel{threads: uint64(n[1]), pair: n[2] == 1, vector: uint64(n[3]), scalar: uint64(n[4])}
		m := &module{arch: r[0], kernels: map[string]kernel{"k": k}}
		o, ok := occupancy(m, &gpucode.Function{Name: "k"}, n[6], n[5])
		u, _ := unitOf(r[0], k)
		if got := (o.Warps + u.simds - 1) / max(u.simds, 1); !ok || got != n[7] {
			t.Errorf("%v: %d waves of a SIMD by %v", r, got, o)
		}
	}
}
