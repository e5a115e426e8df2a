package replay

import (
	"fmt"
	"path/filepath"
)

var nvidia = stub{
	environment: func(_ Machine, stubs, _ string) ([]string, error) {
		return []string{"PROTON_CUPTI_PATH=" + filepath.Join(stubs, "libcupti.so")}, nil
	},
	versions: func(m Machine) string {
		return fmt.Sprintf("CUPTI %d, CUDA %d.%d", m.Tracer, m.Driver/1000, m.Driver%1000/10)
	},
}
