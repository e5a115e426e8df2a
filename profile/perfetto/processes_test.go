package perfetto

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestProcessesOfOneName: two machines, each with a process that has the same name, pid, threads and correlation ids. Tracks say which is which.
func TestProcessesOfOneName(t *testing.T) {
	for _, parents := range []bool{true, false} { // else threads have pids only, and those of the processes differ
		var out bytes.Buffer
		e := encoder{w: &out}
		packet := func(fill func()) {
			p := e.begin(tracePacket)
			e.uint(packetSequenceID, 1)
			fill()
			e.end(p)
		}
		slice := func(track uint64, category, name string, id uint64, from, to uint64) {
			for _, at := range []uint64{from, to} {
				packet(func() {
					e.uint(packetTimestamp, at)
					event := e.begin(packetTrackEvent)
					e.uint(eventTrack, track)
					if e.uint(eventType, sliceEnd); at == from {
						e.uint(eventType, sliceBegin)
						e.text(eventCategory, category)
						e.text(eventName, name)
						annotation := e.begin(eventAnnotations)
						e.text(annotationName, "correlation")
						e.uint(annotationUint, id)
						e.end(annotation)
					}
					e.end(event)
				})
			}
		}
		for i := range uint64(2) {
			pid := uint64(7)
			if !parents {
				pid += i
			}
			process, thread, stream := 1+i, 11+i, 21+i
			packet(func() {
				d := e.begin(packetTrackDescriptor)
				e.uint(trackUUID, process)
				inner := e.begin(trackProcess)
				e.uint(processPID, pid)
				e.text(processName, "python")
				e.end(inner)
				e.end(d)
			})
			packet(func() {
				d := e.begin(packetTrackDescriptor)
				e.uint(trackUUID, thread)
				if parents {
					e.uint(trackParent, process)
				}
				inner := e.begin(trackThread)
				e.uint(threadPID, pid)
				e.uint(threadTID, 7)
				e.end(inner)
				e.end(d)
			})
			packet(func() {
				d := e.begin(packetTrackDescriptor)
				e.uint(trackUUID, stream)
				e.uint(trackParent, process)
				e.text(trackName, "Stream 7")
				e.end(d)
			})
			slice(thread, "cpu_op", fmt.Sprint("scope ", i), 0, 1000, 9000)
			slice(thread, "cuda_runtime", "cudaLaunchKernel", 5, 2000, 3000)
			slice(stream, "kernel", "gemm", 5, 4000, 4100+200*i)
		}
		if err := e.flush(); err != nil {
			t.Fatal(err)
		}
		p := read(t, out.Bytes())
		for i, scope := range p.Root.Children {
			kernel := scope.Children[0]
			if v, _ := kernel.Metric(profile.TimeMetric); scope.Name != fmt.Sprint("scope ", i) || kernel.Name != "gemm" || v.Int() != int64(100+200*i) {
				t.Errorf("below %s is %s with %d ns", scope.Name, kernel.Name, v.Int())
			}
		}
		processes := map[string]bool{}
		for _, l := range p.Timeline.Lanes {
			processes[l.Process] = true
		}
		if len(p.Root.Children) != 2 || len(processes) != 2 || len(p.Timeline.Lanes) != 4 {
			t.Errorf("%d scopes, and processes %v", len(p.Root.Children), processes)
		}
	}
}
