package profile

import (
	"fmt"
	"strings"
	"testing"
)

func TestWalkVisitsParentsFirstAndInOrder(t *testing.T) {
	root := &Node{Name: "ROOT", Children: []*Node{
		{Name: "a", Children: []*Node{{Name: "a1"}, {Name: "a2"}}},
		{Name: "skip", Children: []*Node{{Name: "hidden"}}},
		{Name: "b"},
	}}
	var got []string
	root.Walk(func(n *Node, depth int) bool {
		got = append(got, fmt.Sprintf("%d%s", depth, n.Name))
		return n.Name != "skip"
	})
	want := "0ROOT 1a 2a1 2a2 1skip 1b"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("visited %s, want %s", s, want)
	}
}

func TestDeviceIsFoundByTypeAndOrdinal(t *testing.T) {
	p := &Profile{Devices: []Device{{Type: "CUDA", ID: "0", Arch: "90"}, {Type: "HIP", ID: "0", Arch: "gfx942"}}}
	if d := p.Device("HIP", "0"); d == nil || d.Arch != "gfx942" {
		t.Errorf("Device(HIP, 0) = %v, want gfx942", d)
	}
	if d := p.Device("CUDA", "1"); d != nil {
		t.Errorf("Device(CUDA, 1) = %v, want none", d)
	}
}
