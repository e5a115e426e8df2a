package lookup

import (
	"strings"
	"testing"
)

func TestKernels(t *testing.T) {
	const names = "add add_kernel fused_add matmul matmul_kernel my_matmul kernel.1 void(int*)"
	for patterns, want := range map[string]string{
		"add":              "add add_kernel fused_add", // a part of the name
		"matmul_*":         "matmul_kernel",
		"matmul*":          "matmul matmul_kernel",
		"*matmul":          "matmul my_matmul",
		"add?kernel, my_*": "add_kernel my_matmul",
		"a[dx]d":           "add",
		"fused,my_":        "fused_add my_matmul",
		"add,":             "add add_kernel fused_add",
		// Regular expressions, as before there were patterns.
		"add.*":        "add add_kernel fused_add",
		"^add":         "add add_kernel",
		"^(add|my_).*": "add add_kernel my_matmul",
		"matmul$":      "matmul my_matmul",
		".":            names,
		`kernel\.1`:    "kernel.1",
		`void\(int\*`:  "void(int*)",
		"mat{1}mul_":   "matmul_kernel",
		"_{1,2}add":    "fused_add",
	} {
		match, err := Kernels(patterns)
		if err != nil {
			t.Errorf("%s: %v", patterns, err)
			continue
		}
		var got []string
		for _, name := range strings.Fields(names) {
			if match(name) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", patterns, got, want)
		}
	}
	for _, wrong := range []string{"(", "k[c-a]", "a,b(c"} {
		if _, err := Kernels(wrong); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
