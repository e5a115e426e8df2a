package interpret

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/interpreter/counts"
	"github.com/goproton/goproton/interpreter/run"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

// Traced is a launch of a trace.
type Traced struct {
	What   string // it is, for people
	Inputs *reproduce.Inputs
	Times  int           // how many launches it stands for
	CTAs   int64         // thread blocks of a program instance; 0 is 1
	Of     counts.Kernel // the kind that it is counted as
}

// launch makes what a run launches of it.
func (t *Traced) launch() (*run.Launch, error) {
	in := t.Inputs
	k, err := run.NewKernel(in.Kernel, in.TTIR)
	if err != nil {
		return nil, err
	}
	k.CTAs = t.CTAs
	names := map[*reproduce.Region]string{}
	var buffers []*run.Buffer
	for _, r := range in.Memory {
		name := r.Name
		for slices.ContainsFunc(buffers, func(b *run.Buffer) bool { return b.Name == name }) {
			name += "'"
		}
		names[r] = name
		b := run.NewBuffer(name, 0, r.Data)
		b.Type = r.Type
		buffers = append(buffers, b)
	}
	var list []run.Argument
	for _, a := range in.Arguments {
		to := run.Argument{Name: a.Name, Buffer: names[a.Region], Offset: a.Offset}
		switch {
		case a.Shape != nil:
			to.Descriptor = &run.Descriptor{Shape: a.Shape, Strides: a.Strides, NaN: a.NaN}
		case a.Region == nil:
			to.Value = &run.Number{Int: a.Int, Float: a.Float, IsFloat: a.IsFloat}
		}
		list = append(list, to)
	}
	l, err := run.NewLaunch(k, in.Grid, list, buffers)
	if err == nil {
		l.Times, l.Of = t.Times, t.Of
	}
	return l, err
}

// Launches runs so many launches of a trace, which at makes. With goOn, one that cannot be run is said and left out.
func Launches(ctx context.Context, o Options, count int, goOn bool, at func(i int) (*Traced, error), stdout, stderr io.Writer) (found bool, err error) {
	r, err := run.New(o.Settings)
	if err != nil {
		return false, err
	}
	printed := stdout
	if o.JSON {
		printed = stderr
	}
	var outputs map[string]run.Output
	left, ran := 0, 0
	var ended error
	for i := 0; i < count && ended == nil; i++ {
		t, err := at(i)
		var l *run.Launch
		if err == nil {
			l, err = t.run(ctx, r, &found, printed, stderr)
		}
		switch {
		case err != nil && ctx.Err() != nil && ran > 0:
			ended = fmt.Errorf("%w, after %d of %d launches", err, ran, count)
		case err != nil && (!goOn || ctx.Err() != nil):
			return false, err
		case err != nil:
			left++
			fmt.Fprintf(stderr, "proton: %v; it is left out\n", err)
		default:
			outputs = l.Outputs()
			ran++
		}
	}
	if left > 0 {
		fmt.Fprintf(stderr, "proton: %d of %s could not be run and are not in the counts\n", left, figures.Count(count, "launch"))
	}
	report := r.Report()
	if report.Finished = true; report.Launches == 1 {
		report.Outputs = outputs
	}
	if err := o.finish(report, stdout, stderr); err != nil {
		return found, err
	}
	return found, ended
}

// run runs a launch, and compares what it leaves.
func (t *Traced) run(ctx context.Context, r *run.Run, found *bool, printed, stderr io.Writer) (*run.Launch, error) {
	l, err := t.launch()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.What, err)
	}
	fmt.Fprintf(stderr, "proton: %s\n", t.description())
	outcome, err := r.Launch(ctx, l, printed, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.What, err)
	}
	*found = *found || len(outcome.Findings) > 0
	for _, text := range t.left() {
		fmt.Fprintf(stderr, "proton: %s\n", text)
	}
	return l, nil
}

// description says what is launched, and with which contents of tensors.
func (t *Traced) description() string {
	var parts []string
	for _, made := range t.Inputs.Tensors {
		parts = append(parts, fmt.Sprintf("%s %s, %s", made.Name, made.Brief, made.From))
	}
	text := t.What
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, "; ") + ")"
	}
	for _, note := range t.Inputs.Notes {
		text += "; " + note
	}
	return text
}

// left compares what the launch has left in tensors with what the recorded one did.
func (t *Traced) left() (list []string) {
	for _, l := range t.Inputs.Left {
		is := "is as recorded"
		got := l.Region.Data[l.Offset:]
		if got = got[:min(len(got), len(l.Values))]; !bytes.Equal(got, l.Values) {
			differ := 0
			for i, b := range got {
				if b != l.Values[i] {
					differ++
				}
			}
			is = fmt.Sprintf("differs from what was recorded in %d of %d bytes", differ+len(l.Values)-len(got), len(l.Values))
		}
		list = append(list, fmt.Sprintf("%s %s (%s)", l.Name, is, l.From))
	}
	return list
}
