package hsaco

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/internal/testkit"
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
		o, ok := occupancy(m, &gpu.Function{Name: "k"}, n[6], n[5])
		u, _ := unitOf(r[0], k)
		if got := (o.Warps + u.simds - 1) / max(u.simds, 1); !ok || got != n[7] {
			t.Errorf("%v: %d waves of a SIMD by %v", r, got, o)
		}
	}
}

// TestLimits names what one more workgroup would exceed.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		arch            string
		k               kernel
		threads, shared int
		want            string
	}{
		{"gfx942", kernel{threads: 64, vector: 128, scalar: 30}, 256, 0, "{4 16 32 [registers]}"},
		{"gfx942", kernel{threads: 64, vector: 8, scalar: 30}, 256, 16 << 10, "{4 16 32 [shared memory]}"},
		{"gfx942", kernel{threads: 64, vector: 8, scalar: 102}, 64, 0, "{28 28 32 [scalar registers]}"},
		{"gfx1100", kernel{threads: 32, vector: 8, pair: true}, 64, 0, "{32 64 64 [warps blocks]}"},
		{"gfx1100", kernel{threads: 32, vector: 8}, 1024, 0, "{1 32 32 [warps]}"},
		{"gfx942", kernel{threads: 64, vector: 512}, 1024, 0, "{0 0 32 [registers]}"},
	} {
		m := &module{arch: c.arch, kernels: map[string]kernel{"k": c.k}}
		if o, ok := occupancy(m, &gpu.Function{Name: "k"}, c.threads, c.shared); !ok || fmt.Sprint(o) != c.want {
			t.Errorf("%s %+v, %d threads, %d bytes: %v, want %s", c.arch, c.k, c.threads, c.shared, o, c.want)
		}
	}
	for _, m := range []*module{{arch: "gfx1250", kernels: map[string]kernel{"k": {threads: 32, vector: 8}}}, {arch: "gfx942"}} {
		if o, ok := occupancy(m, &gpu.Function{Name: "k"}, 64, 0); ok {
			t.Errorf("%s: %v", m.arch, o)
		}
	}
}

// TestOccupancyOfTheCompiler: the assembly of a kernel ends with what the compiler computed. HSACOS is described with TestAgainstLLVM.
func TestOccupancyOfTheCompiler(t *testing.T) {
	remark := regexp.MustCompile(`(?m)^; Occupancy: (\d+)$`)
	files, err := filepath.Glob("testdata/*.amdgcn")
	if folder := os.Getenv("HSACOS"); folder != "" && err == nil {
		files, err = filepath.Glob(filepath.Join(folder, "*.amdgcn"))
	}
	if err != nil || len(files) == 0 {
		t.Fatalf("no assembly (%v)", err)
	}
	for _, file := range files {
		m := open(t, strings.TrimSuffix(file, ".amdgcn")+".hsaco")
		want, k := remark.FindStringSubmatch(testkit.Read(t, file)), m.kernels[m.Kernels()[0]]
		u, known := unitOf(m.arch, k)
		vector, scalar := u.wavesOf(k, m.arch)
		if got := min(vector, scalar, u.waves); !known || want == nil || strconv.Itoa(got) != want[1] {
			t.Errorf("%s: %d waves of a SIMD, the compiler has %v", file, got, want)
		}
	}
}
