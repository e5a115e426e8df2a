package control

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/hotpath/scratch"
)

// insideKernel is a kernel with scopes inside.
type insideKernel struct {
	Function uint64        `json:"function"`
	Inside   inside.Kernel `json:"inside"`
}

// insideLaunch is a kernel with scopes inside, and what a launch of it left.
type insideLaunch struct {
	Inside inside.Kernel `json:"inside"`
	Grid   [3]uint32     `json:"grid"`
	CTAs   uint32        `json:"ctas"`
	Device int           `json:"device"`
	Stream uint64        `json:"stream"`
	Op     uint64        `json:"op"`
	Slots  string        `json:"slots"` // in hexadecimal digits
}

// insideKernel makes a kernel known by the handle of its function.
func (*Service) insideKernel(p insideKernel) (any, error) {
	k := p.Inside
	k.Backend = strings.ToLower(k.Backend)
	return nil, scratch.Define(p.Function, &k)
}

// insideLaunch adds a launch that a replay brings. It shares the table of its kernel with other launches.
func (s *Service) insideLaunch(p insideLaunch) (any, error) {
	slots, err := hex.DecodeString(p.Slots)
	if err != nil {
		return nil, fmt.Errorf("read the slots of a launch: %w; record the capture again", err)
	}
	k := p.Inside
	s.Manager.ReplayInside(&inside.Launch{
		Kernel: &k, Grid: p.Grid, CTAsPerCluster: p.CTAs, Device: p.Device, Stream: p.Stream, Correlation: p.Op, Buffer: slots,
	})
	return nil, nil
}
