package aggregate

import (
	"fmt"
	"testing"

	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/callpath"
)

const scopesOfOneLaunch = "(produce{cycles=900 normalized_cycles=450 device_id=0}(wait{cycles=300 normalized_cycles=150 device_id=0}) " +
	"multiply{cycles=600 normalized_cycles=300 device_id=0})"

func replayOf(set uint32) *inside.Launch {
	l := launchOf(1, set, 1)
	l.Replayed = true
	return l
}

func replay(set uint32, corr uint64) *callpath.Attribution {
	at := launched(set, corr)
	at.Graph, at.Captured = true, &callpath.Captured{Place: callpath.Place{Set: set}}
	return at
}

// The scopes of a replayed kernel stand below it, whichever of them comes first, and where the graph was launched.
func TestScopesOfAReplayStandBelowItsKernel(t *testing.T) {
	for _, late := range []bool{false, true} {
		a, _, _ := stage(t)
		tree := a.Sets.NewTree(TreeOptions{Inside: true})
		set := a.Sets.Launch([]*Tree{tree})
		if late {
			a.AddInside(replayOf(set))
		}
		a.Add(kernel("attention", 0, 700), replay(set, 9))
		if !late {
			a.AddInside(replayOf(set))
		}
		frozen(t, tree, "ROOT(<captured_at>(attention{count=1 device_id=0 time (ns)=700}"+scopesOfOneLaunch+"))")
		a.AddInside(replayOf(set))
		p, _ := a.Freeze(tree, "CUDA")
		if k := p.Root.Child("<captured_at>").Child("attention").Inside.Kernel; k.Launches != 2 || len(p.Root.Children) != 1 {
			t.Errorf("%d launches; %s", k.Launches, outline(p.Root))
		}
	}
}

// A profile that is taken before the first record of a replay does not put its scopes at the captured call path for good.
func TestScopesOfAReplayBeforeItsKernel(t *testing.T) {
	a, _, _ := stage(t)
	tree := a.Sets.NewTree(TreeOptions{Inside: true})
	set := a.Sets.Launch([]*Tree{tree})
	soFar := func() string { p, _ := a.FreezeSoFar(tree, "CUDA"); return outline(p.Root) }
	a.AddInside(replayOf(set))
	if got := soFar(); got != "ROOT" {
		t.Errorf("before the record: %s", got)
	}
	a.Add(kernel("attention", 0, 700), replay(set, 9))
	want := "ROOT(<captured_at>(attention{count=1 device_id=0 time (ns)=700}" + scopesOfOneLaunch + "))"
	if got := soFar(); got != want {
		t.Errorf("with it: %s", got)
	}
	// Where no record comes, the next profile has the scopes.
	tree = a.Sets.NewTree(TreeOptions{Inside: true})
	set = a.Sets.Launch([]*Tree{tree})
	a.AddInside(replayOf(set))
	soFar()
	if got := soFar(); got != "ROOT(attention"+scopesOfOneLaunch+")" {
		t.Errorf("without a record: %s", got)
	}
}

// The clock of a replayed kernel is that of its own blocks, also where its scopes came before the record that says where they belong.
func TestClockOfAReplay(t *testing.T) {
	var kernels [2]*profile.InsideKernel
	for late := range kernels {
		a, _, _ := stage(t)
		tree := a.Sets.NewTree(TreeOptions{Inside: true})
		set := a.Sets.Launch([]*Tree{tree})
		faster := launchLasting(450, 1, set, 1) // what the device's clock made in another kernel
		other := *attention
		faster.Kernel, other.Name = &other, "other"
		a.AddInside(faster)
		l := launchLasting(500, 1, set, 2)
		l.Replayed = true
		own := *attention
		own.Scopes = append([]inside.Scope{{ID: 0, Name: "kernel", Parent: -1}}, own.Scopes[1:]...)
		l.Kernel = &own // a scope around everything: its block says what the clock made
		if late == 1 {
			a.AddInside(l)
		}
		a.Add(kernel("attention", 0, 700), replay(set, 9))
		if late == 0 {
			a.AddInside(l)
		}
		p, _ := a.Freeze(tree, "CUDA")
		kernels[late] = p.Root.Child("<captured_at>").Child("attention").Inside.Kernel
	}
	if first, late := kernels[0], kernels[1]; late.Cycles != first.Cycles || late.CyclesOff != first.CyclesOff {
		t.Errorf("%d cycles, %d off, and %d, %d off where the scopes came first", first.Cycles, first.CyclesOff, late.Cycles, late.CyclesOff)
	}
}

// Without a record of the kernel, or with several places from which the graph was launched, they stand where it was captured.
func TestScopesOfAReplayWhoseLaunchIsNotKnown(t *testing.T) {
	a, _, _ := stage(t)
	tree := a.Sets.NewTree(TreeOptions{Inside: true})
	set := a.Sets.Launch([]*Tree{tree})
	a.AddInside(replayOf(set))
	a.AddInside(replayOf(set))
	if len(tree.replays) != 1 {
		t.Errorf("%d captured launches wait", len(tree.replays))
	}
	frozen(t, tree, "ROOT(attention(produce{cycles=1800 normalized_cycles=900 device_id=0}(wait{cycles=600 normalized_cycles=300 device_id=0}) "+
		"multiply{cycles=1200 normalized_cycles=600 device_id=0}))")

	tree = a.Sets.NewTree(TreeOptions{Inside: true})
	set = a.Sets.Launch([]*Tree{tree})
	a.Add(kernel("attention", 0, 700), replay(set, 9))
	tree.capturedAt(tree.root.child("elsewhere", 10), 10).child("attention", 10)
	a.AddInside(replayOf(set))
	frozen(t, tree, "ROOT(attention"+scopesOfOneLaunch+" elsewhere(<captured_at>(attention)) <captured_at>(attention{count=1 device_id=0 time (ns)=700}))")
}

func TestScopesOnTwoDevices(t *testing.T) {
	a, _, _ := stage(t)
	tree := a.Sets.NewTree(TreeOptions{Inside: true})
	set := a.Sets.Launch([]*Tree{tree})
	for n, device := range []int{0, 1, 1} {
		l := launchLasting([]uint64{450, 500}[device], 1, set, uint64(n+1)) // the clock of device 0 is faster
		l.Device = device
		a.AddInside(l)
	}
	p, devices := a.Freeze(tree, "CUDA")
	k := p.Root.Child("attention")
	if id, _ := k.Child("produce").Metric("device_id"); id.Str() != "1" || fmt.Sprint(devices) != "[0 1]" {
		t.Errorf("device %v of %v", id, devices)
	}
	if got := k.Inside.Kernel.Cycles; got != 3*2*900 { // in each launch two warps, while the clock of its device made 900 cycles
		t.Errorf("%v cycles", got)
	}
}
