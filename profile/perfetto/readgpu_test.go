package perfetto

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// message writes fields: numbers, texts and messages.
func message(fieldsOf ...any) (b []byte) {
	for i := 0; i < len(fieldsOf); i += 2 {
		number := protowire.Number(fieldsOf[i].(int))
		switch v := fieldsOf[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
		}
	}
	return b
}

// TestRenderStages reads work of GPUs in Perfetto's own form, with names as new and as old writers number them. The program behind
// ui.perfetto.dev reads the same.
func TestRenderStages(t *testing.T) {
	named := func(id int, name string) []byte { return message(1, id, 2, name, 4, 2) }
	interned := message(internedStages, named(1, "compute"), internedStages, named(2, "transfer"), internedStages, named(3, "gemm"), internedStages, named(4, "Memcpy"),
		internedStages, named(5, "pass"))
	stage := func(at, duration int, of ...any) []byte {
		return message(1, message(packetSequenceID, 1, packetSequenceFlags, needsState, packetTimestamp, at,
			packetRenderStage, message(append(of, 1, at, stageDuration, duration)...)))
	}
	for name, test := range map[string]struct {
		first []byte
		stage func(queue, name int) []any
	}{
		"new": {message(packetSequenceID, 1, packetSequenceFlags, stateCleared, packetInternedData, interned), func(queue, name int) []any {
			return []any{stageQueueIID, queue, stageIID, name}
		}},
		"old": {message(packetSequenceID, 1, packetSequenceFlags, stateCleared, packetTimestamp, 1, packetRenderStage, message(stageSpecifications, message(
			specificationQueue, message(1, "none"), specificationQueue, message(1, "compute"), specificationQueue, message(1, "transfer"),
			specificationStage, message(1, "a"), specificationStage, message(1, "b"), specificationStage, message(1, "c"),
			specificationStage, message(1, "gemm"), specificationStage, message(1, "Memcpy"), specificationStage, message(1, "pass")))),
			func(queue, name int) []any { return []any{stageQueue, queue, stageID, name} }},
	} {
		file := message(1, test.first)
		for _, s := range []struct{ at, duration, gpu, queue, name int }{
			{1000, 500, 0, 1, 3}, {1600, 50, 1, 1, 3}, {1700, 400, 0, 1, 5}, {1700, 100, 0, 1, 3}, {1850, 250, 0, 1, 3}, {2000, 30, 0, 2, 4},
		} {
			file = append(file, stage(s.at, s.duration, append(test.stage(s.queue, s.name), stageGPU, s.gpu)...)...)
		}
		p := read(t, file)
		var got []string
		lanes := map[int]profile.Lane{}
		for _, l := range p.Timeline.Lanes {
			lanes[l.ID] = l
		}
		for _, s := range p.Timeline.Slices {
			got = append(got, fmt.Sprintf("%s %d+%d", s.Name, s.Start, s.Duration))
		}
		answers := profiletest.Query(t, "../..", file, "select name, ts, dur from gpu_slice order by ts, dur desc")
		var want []string
		for _, row := range answers[0].Rows {
			want = append(want, fmt.Sprintf("%s %.0f+%.0f", row[0], row[1], row[2]))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(got) != 6 {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		times := map[string]int64{}
		for _, c := range p.Root.Children {
			v, _ := c.Metric(profile.TimeMetric)
			times[c.Name] = v.Int()
		}
		if w := map[string]int64{"gemm": 900, "Memcpy": 30}; !maps.Equal(times, w) {
			t.Errorf("%s: times are %v, want %v: what is within a pass counts, the pass does not", name, times, w)
		}
		queues := map[string]int{}
		for _, l := range lanes {
			queues[l.Device+" "+l.Name]++
		}
		if w := map[string]int{"0 compute": 1, "1 compute": 1, "0 transfer": 1}; !maps.Equal(queues, w) {
			t.Errorf("%s: lanes %v, want %v", name, queues, w)
		}
	}
}

// TestComputeWork reads what Perfetto's recorders of CUDA and HIP write: stages have names of their own or those of kernels, and events of threads
// say which stages they submitted. Upstream's tests have such traces (gpu_compute_kernel, gpu_compute_launch, gpu_render_stages_flow).
func TestComputeWork(t *testing.T) {
	named := func(id int, name string) []byte { return message(1, id, 2, name) }
	packet := func(sequence, flags, at int, of ...any) []byte {
		return message(1, message(append(of, packetSequenceID, sequence, packetSequenceFlags, flags, packetTimestamp, at)...))
	}
	work := func(at, duration, event int, of ...any) []byte {
		return packet(1, needsState, at, packetRenderStage, message(append(of, stageEvent, event, stageDuration, duration, stageQueueIID, 1)...))
	}
	call := func(at int, of ...any) []byte {
		return packet(2, 0, at, packetTrackEvent, message(append(of, eventTrack, 7)...))
	}
	submits := func(events ...any) []any { return []any{eventSubmits, message(events...)} }
	p := read(t, slices.Concat(
		packet(1, stateCleared, 0, packetInternedData, message(internedStages, named(1, "queue"), internedStages, named(2, "Kernel"), internedNames, named(3, "by id"),
			internedKernels, named(1, "_Z4gemmPf"), internedKernels, message(1, 2, 2, "softmax", 3, "softmax()"))),
		packet(2, stateCleared, 0, packetTrackDescriptor, message(trackUUID, 7, trackThread, message(threadPID, 5, threadTID, 6))),
		work(100, 1, 1, stageIID, 2, stageKernelIID, 1), work(110, 2, 2, stageIID, 2, stageKernelIID, 2),
		work(120, 4, 3, stageKernelIID, 1, stageIID, 2, stageName, "by name"), work(130, 8, 4, stageNameIID, 3), work(140, 16, 5), work(150, 32, 6, stageIID, 2),
		call(10, eventType, sliceBegin, eventName, "step"), call(11, append(submits(submittedStage, 1), eventType, sliceBegin, eventName, "submit")...), call(12, eventType, sliceEnd),
		call(13, append(submits(submittedStage, 2, submittedStage, 3, 2, 6), eventType, sliceBegin, eventName, "cuGraphLaunch", eventGPUAPI, 4)...), call(14, eventType, sliceEnd),
		call(99, eventType, sliceEnd)))
	got := map[string]int64{}
	var add func(path string, n *profile.Node)
	add = func(path string, n *profile.Node) {
		for _, c := range n.Children {
			if v, ok := c.Metric(profile.TimeMetric); ok {
				got[path+c.Name] = v.Int()
			}
			add(path+c.Name+" > ", c)
		}
	}
	add("", p.Root)
	want := map[string]int64{"step > submit > _Z4gemmPf": 1, "step > softmax": 2, "step > by name": 4, "by id": 8, "stage": 16, "Kernel": 32}
	if !maps.Equal(got, want) {
		t.Errorf("times are %v, want %v", got, want)
	}
}

// TestAsynchronousEventsAreCounted: Chrome writes them in its own protobuf traces as events with a phase and without a type.
func TestAsynchronousEventsAreCounted(t *testing.T) {
	event := func(at int, of ...any) []byte {
		return message(1, message(packetSequenceID, 1, packetTimestamp, at, packetTrackEvent, message(of...)))
	}
	file := slices.Concat(event(1, eventType, sliceBegin, eventTrack, 1, eventName, "x"), event(2, eventLegacy, message(2, int('b')), eventName, "a"),
		event(3, eventLegacy, message(2, int('e')), eventName, "a"), event(9, eventType, sliceEnd, eventTrack, 1))
	p := read(t, file)
	if note := p.Info[profile.InfoNote]; note != "2 asynchronous events are left out: they lie on no thread" || len(p.Timeline.Slices) != 1 {
		t.Errorf("the note is %q, slices %+v", note, p.Timeline.Slices)
	}
}
