package profile

// Walk calls visit for n and every node below it, parents first and children in order. A node whose visit
// returns false keeps its subtree unvisited. It does not recurse, so a tree of any depth is safe to walk.
func (n *Node) Walk(visit func(n *Node, depth int) bool) {
	type step struct {
		node  *Node
		depth int
	}
	pending := []step{{n, 0}}
	for len(pending) > 0 {
		s := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if !visit(s.node, s.depth) {
			continue
		}
		for i := len(s.node.Children) - 1; i >= 0; i-- {
			pending = append(pending, step{s.node.Children[i], s.depth + 1})
		}
	}
}

// Device returns the device with that type and ordinal, or nil.
func (p *Profile) Device(typ, id string) *Device {
	for i := range p.Devices {
		if d := &p.Devices[i]; d.Type == typ && d.ID == id {
			return d
		}
	}
	return nil
}
