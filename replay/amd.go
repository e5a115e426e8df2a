package replay

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/settings"
)

var amd = stub{environment: environmentOfAMD, versions: versionsOfAMD}

// layoutB is the first version of rocprofiler-sdk with the layout of today, as capture.Machine counts them.
const layoutB = 700

// environmentOfAMD has the profiler find the fake HIP, the fake library of the capture's version and layout, and the topology of the
// machine.
func environmentOfAMD(m Machine, stubs, own string) ([]string, error) {
	hip, root := filepath.Join(stubs, "hip"), filepath.Join(own, "root")
	if err := writeTopology(root, m.Nodes); err != nil {
		return nil, fmt.Errorf("write the topology of the recorded machine: %w; free some space in TMPDIR", err)
	}
	sdk := hip
	if m.Tracer < layoutB {
		sdk = filepath.Join(stubs, "hip-6.4")
	}
	return []string{
		"PROTON_STUB_PLAYER=" + filepath.Join(hip, "libamdhip64.so.6"),
		fmt.Sprintf("PROTON_STUB_SDK=%d", m.Tracer),
		settings.TritonROCtracer.Name + "=" + hip,
		settings.TritonROCSDK.Name + "=" + sdk,
		settings.Root.Name + "=" + root,
	}, nil
}

func versionsOfAMD(m Machine) string {
	tracer := fmt.Sprintf("roctracer %d.%d", m.Tracer/100, m.Tracer%100)
	if m.Backend == vendors.AMD.Backends[0].Names[0] {
		tracer = fmt.Sprintf("rocprofiler-sdk %d.%d.%d", m.Tracer/10000, m.Tracer/100%100, m.Tracer%100)
	}
	return fmt.Sprintf("%s, HIP %d.%d", tracer, m.Driver/10000000, m.Driver/100000%100)
}

// writeTopology writes what the kernel's driver shows in /sys about nodes.
func writeTopology(root string, nodes []Node) error {
	if err := os.MkdirAll(root, 0o777); err != nil {
		return err
	}
	for _, n := range nodes {
		dir := filepath.Join(root, "sys/class/kfd/kfd/topology/nodes", fmt.Sprint(n.Number))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		simds := 0
		if n.GPU {
			simds = 1
		}
		text := fmt.Sprintf("simd_count %d\nlocation_id %d\ndomain %d\n", simds, n.Location, n.Domain)
		if err := os.WriteFile(filepath.Join(dir, "properties"), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}
