package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// sampled is an outline of a profile with nothing but samples, and with what is known of them all.
func sampled(p *profile.Profile) string {
	var out strings.Builder
	s := p.Sampling
	fmt.Fprintf(&out, "%s, every %d cycles; total %d, dropped %d, not the program's %d, shared %d, buffer full %t\n", s.Mode, s.Period, s.Total,
		s.Dropped, s.NonUser, s.Apportioned, s.BufferFull)
	for _, f := range s.Functions {
		fmt.Fprintf(&out, "function %s %d of module %s, %d bytes, %d registers, lines of %d instructions\n", f.Name, f.Index, f.Module, f.Size, f.Registers, len(f.Places))
	}
	var walk func(n *profile.Node, depth int)
	walk = func(n *profile.Node, depth int) {
		fmt.Fprintf(&out, "%s%.90s", strings.Repeat("  ", depth), n.Name)
		for _, m := range n.Metrics {
			if v, ok := m.Value.Float(); ok && strings.Contains(m.Name, "samples") {
				fmt.Fprintf(&out, "  %s %v", m.Name, v)
			}
		}
		out.WriteByte('\n')
		for _, c := range n.Children {
			walk(c, depth+1)
		}
	}
	walk(p.Root, 0)
	return out.String()
}

// TestSampledRuns plays instruction samples of an H200 through the real profiler: modules, functions, lines and inlined
// helpers, apportioned by kernel time in continuous mode, joined to launches in serialized mode.
func TestSampledRuns(t *testing.T) {
	for _, c := range []struct{ capture, mode string }{
		{"hotline", "pcsampling"}, {"hotline_serialized", "pcsampling:collection=serialized"}, {"matmul_sampled", "pcsampling"},
	} {
		t.Run(c.capture, func(t *testing.T) {
			p, _ := playMode(t, c.capture, "shadow", c.mode)
			testkit.Golden(t, "testdata/"+c.capture+".txt", sampled(p))
		})
	}
}

func samplesOf(n *profile.Node) (samples float64) {
	v, _ := n.Metric("num_samples")
	samples, _ = v.Float()
	for _, c := range n.Children {
		samples += samplesOf(c)
	}
	return samples
}

// TestPlantedLineIsTheHottest: the one line that does all the work has nearly all samples of its kernel, at both call
// paths that launch it and in both modes; and a pattern leaves out what does not match.
func TestPlantedLineIsTheHottest(t *testing.T) {
	for _, c := range []struct{ capture, mode string }{
		{"hotline", "pcsampling:kernels=hot.*"}, {"hotline_serialized", "pcsampling:collection=serialized:kernels=hot.*"},
	} {
		p, _ := playMode(t, c.capture, "shadow", c.mode)
		all := samplesOf(p.Root)
		for _, scope := range []string{"first", "second"} {
			kernel := p.Root.Child(scope).Child("hot_line")
			var hot float64
			for _, line := range kernel.Children {
				if strings.HasSuffix(line.Name, "hotline.py:14@hot_line") {
					hot += samplesOf(line)
				}
			}
			if of := samplesOf(kernel); hot < 0.95*of || of < 0.49*all {
				t.Errorf("%s, %s: the hot line has %v of %v samples of its kernel, of %v in all", c.capture, scope, hot, of, all)
			}
		}
	}
}

// TestRefusedSamplingTimesKernels: where the user may not sample, or the library cannot, kernels are timed all the
// same, and one sentence names what has to be changed.
func TestRefusedSamplingTimesKernels(t *testing.T) {
	for _, c := range []struct{ results, want string }{
		{"PCSamplingEnable=35", "NVreg_RestrictProfilingToAdminUsers=0"},
		{"PCSamplingEnable=43", "nvidia-smi -mig 0"},
		{"PCSamplingEnable=41", "confidential"},
		{"PCSamplingSetConfigurationAttribute=7", "interval="},
		{"PCSamplingStart=26", "dcgmi"},
	} {
		t.Setenv("PROTON_STUB_RESULTS", c.results)
		p, problems := playMode(t, "hotline", "shadow", "pcsampling")
		if p.Root.Child("first").Child("hot_line") == nil {
			t.Errorf("%s: no kernels", c.results)
		}
		if text := strings.Join(problems, "\n"); !strings.Contains(text, c.want) || strings.Count(text, "CUPTI error") != 1 {
			t.Errorf("%s: got %q, want one error that names %q", c.results, text, c.want)
		}
	}
}

// TestSamplesOfOlderLibraries: before CUDA 12.4 samples lie closer together and do not know their launch.
func TestSamplesOfOlderLibraries(t *testing.T) {
	want, _ := playMode(t, "hotline", "shadow", "pcsampling")
	for _, version := range []string{"18", "20"} {
		t.Setenv("PROTON_STUB_VERSION", version)
		got, problems := playMode(t, "hotline", "shadow", "pcsampling")
		if sampled(got) != sampled(want) {
			t.Errorf("CUPTI %s: got\n%s\nwant\n%s\n%s", version, sampled(got), sampled(want), problems)
		}
		got, problems = playMode(t, "hotline_serialized", "shadow", "pcsampling:collection=serialized")
		if samplesOf(got.Root) != 0 || !strings.Contains(strings.Join(problems, "\n"), "collection=continuous") {
			t.Errorf("CUPTI %s: %v samples of single launches, %q", version, samplesOf(got.Root), problems)
		}
	}
}
