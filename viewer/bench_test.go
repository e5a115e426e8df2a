package viewer

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profile/hatchet"
)

// trainingRun has some 1,300 frames per step, as a model of a hundred layers with a dozen kernels each.
func trainingRun(steps int) *profile.Profile {
	p := &profile.Profile{
		Root:    &profile.Node{Name: "ROOT"},
		Kinds:   profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "bytes": profile.Inclusive, "flops16": profile.Inclusive},
		Devices: []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132}},
	}
	device, vendor := profile.StringValue("0"), profile.StringValue("CUDA")
	for step := range steps {
		s := &profile.Node{Name: fmt.Sprint("step ", step)}
		p.Root.Children = append(p.Root.Children, s)
		for layer := range 100 {
			l := &profile.Node{Name: fmt.Sprint("layer ", layer)}
			s.Children = append(s.Children, l)
			for k := range 12 {
				l.Children = append(l.Children, &profile.Node{
					Name: "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEvi" + string(rune('a'+k)),
					Metrics: []profile.Metric{
						{Name: "time (ns)", Value: profile.IntValue(int64(1000*k + layer))}, {Name: "count", Value: profile.IntValue(2)},
						{Name: "bytes", Value: profile.IntValue(1 << 20)}, {Name: "flops16", Value: profile.FloatValue(1e9)},
						{Name: "device_id", Value: device}, {Name: "device_type", Value: vendor}}})
			}
		}
	}
	return p
}

// BenchmarkTable130k is what stands between a profile that has been read and any view of it.
func BenchmarkTable130k(b *testing.B) {
	p := trainingRun(100)
	for _, metrics := range [][]string{{"time"}, {"time", "util", "tflop16/s", "time/%"}} {
		b.Run(fmt.Sprint(len(metrics)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := NewTable(p, Options{Metrics: metrics}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkViews130k is a table and its printing.
func BenchmarkViews130k(b *testing.B) {
	p := trainingRun(100)
	for _, v := range Views() {
		b.Run(v.Name, func(b *testing.B) {
			for b.Loop() {
				var size counter
				if _, err := Render(&size, p, v.Name, Options{Metrics: []string{"time", "tflop16/s"}}, Terminal{Width: 100}); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(size))
			}
		})
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// BenchmarkReadAndTree13k is what a user waits for.
func BenchmarkReadAndTree13k(b *testing.B) {
	var file bytes.Buffer
	if err := hatchet.Write(&file, trainingRun(10)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len()))
	for b.Loop() {
		p, err := formats.Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Render(io.Discard, p, "tree", Options{Metrics: []string{"util", "tflop16/s", "time"}}, Terminal{}); err != nil {
			b.Fatal(err)
		}
	}
}
