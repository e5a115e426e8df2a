package perfetto

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// queue is a hardware queue of a GPU. Graphics drivers, and what records compute work for them, write its work as render stages, which
// refer to no track.
type queue struct {
	gpu  int64
	name string
}

// stageTables are the names of queues and stages that older writers number in a packet of their own.
type stageTables struct{ queues, stages []string }

// readStage reads a render stage: a slice with its duration. Stages within stages, such as draws of a render pass, are the work; those
// around them are shown without being counted.
func (d *reader) readStage(state *sequenceState, at int64, fault lanes.TimeFault, message []byte) error {
	e := lanes.Event{Start: at, StartFault: fault, Category: lanes.Categories[profile.KernelSlice]}
	var duration, id uint64
	var q queue
	var stage, kernel string
	work := false
	number := func(list []string, n uint64, what string) string {
		if n < uint64(len(list)) {
			return list[n]
		}
		return fmt.Sprintf("%s %d", what, int64(n))
	}
	err := fields(message, func(f field) error {
		switch f.number {
		case stageSpecifications:
			return d.readStageNames(f.b)
		case stageEvent:
			id, work = f.v, true
		case stageDuration:
			duration = f.v
		case stageGPU:
			q.gpu = int64(int32(f.v))
		case stageQueueIID:
			q.name = cmp.Or(state.stages[f.v], fmt.Sprintf("queue %d", f.v))
		case stageIID:
			stage = cmp.Or(state.stages[f.v], fmt.Sprintf("stage %d", f.v))
		case stageName:
			e.Name = d.text(f.b)
		case stageNameIID:
			e.Name = cmp.Or(state.names[f.v], e.Name)
		case stageKernelIID:
			kernel = state.kernels[f.v]
		case stageQueue:
			q.name = cmp.Or(q.name, number(d.stages.queues, f.v, "queue"))
		case stageID:
			stage = cmp.Or(stage, number(d.stages.stages, f.v, "stage"))
		}
		return nil
	})
	if err != nil || !work && stage == "" { // the packet has names only
		return err
	}
	e.Name = cmp.Or(e.Name, kernel, stage, "stage")
	l := d.queues[q]
	if l == nil {
		l = d.b.NewLane()
		l.Name, l.Kind, l.Device, l.Nests = q.name, profile.StreamLane, strconv.FormatInt(q.gpu, 10), true
		d.queues[q] = l
	}
	d.submissions = append(d.submissions, flowPoint{id: id, lane: l.ID, at: at, ends: true})
	d.b.Slice(l, &e, int64(min(duration, lanes.FarAway)))
	return nil
}

func (d *reader) readStageNames(message []byte) error {
	return fields(message, func(f field) error {
		var list *[]string
		switch f.number {
		case specificationQueue:
			list = &d.stages.queues
		case specificationStage:
			list = &d.stages.stages
		default:
			return nil
		}
		return fields(f.b, func(f field) error {
			if f.number == specificationName {
				*list = append(slices.Clip(*list), d.text(f.b))
			}
			return nil
		})
	})
}
