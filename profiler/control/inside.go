package control

import (
	"strings"

	"github.com/goproton/goproton/internal/inside"
	"github.com/goproton/goproton/internal/inside/scratch"
)

// insideKernel is a kernel with scopes inside as Python describes it.
type insideKernel struct {
	Name       string  `json:"name"`
	Mode       string  `json:"mode"`
	Triton     string  `json:"triton"`
	SlotSize   int     `json:"slot_size"`
	Warps      int     `json:"warps"`
	Units      []int   `json:"units"` // null: all
	BufferSize int     `json:"buffer_size"`
	Clock32    bool    `json:"clock32"`
	Arch       string  `json:"arch"`
	Backend    string  `json:"backend"`
	Scopes     []scope `json:"scopes"`
}

type scope struct {
	ID     int    `json:"id"`
	Name   string `json:"name"`
	Parent int    `json:"parent"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// insideKernel makes a kernel known by the handle of its function.
func (*Service) insideKernel(p *params) (any, error) {
	in := &p.Inside
	k := &inside.Kernel{
		Name: in.Name, Mode: in.Mode, Triton: in.Triton, SlotSize: in.SlotSize, Warps: in.Warps, Units: in.Units, BufferSize: in.BufferSize,
		Clock32: in.Clock32, Arch: in.Arch, Backend: strings.ToLower(in.Backend),
	}
	for _, s := range in.Scopes {
		k.Scopes = append(k.Scopes, inside.Scope(s))
	}
	return nil, scratch.Define(p.Function, k)
}
