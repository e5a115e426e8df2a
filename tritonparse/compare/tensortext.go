package compare

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse/internal/tensor"
)

// tensors prints the arguments of two launches, and by how much those differ whose contents are there.
func (p *printer) tensors(d *Diff) {
	if len(d.Tensors) == 0 {
		return
	}
	a, b := d.A.Launch, d.B.Launch
	p.printf("\nTensors as they were before launch %d (record %d) of A and %d (record %d) of B\n", a.ID, a.Line, b.ID, b.Line)
	rows := [][]string{{"TENSOR", "A", "B", ""}}
	var values valueTable
	for i := range d.Tensors {
		t := &d.Tensors[i]
		rows = append(rows, []string{t.Name, t.A, t.B, t.brief()})
		values.add("", t)
	}
	p.table(rows)
	values.print(p)
}

// differingTensors prints those of all matches.
func (p *printer) differingTensors(matches []Match) {
	rows := [][]string{{"TENSOR", "A", "B", ""}}
	var values valueTable
	for i := range matches {
		m := &matches[i]
		for _, t := range m.differing() {
			kernel := m.A.Kernel + " " + shortHash(m.A.Hash) + " "
			rows = append(rows, []string{kernel + t.Name, t.A, t.B, t.brief()})
			values.add(kernel, t)
		}
	}
	p.table(rows)
	values.print(p)
}

// valueTable says by how much tensors differ.
type valueTable struct {
	rows  [][]string
	notes []string
}

func (v *valueTable) add(kernel string, t *Tensor) {
	if t.Values == nil {
		return
	}
	if t.Values.Differing > 0 {
		v.rows = append(v.rows, append([]string{kernel + t.Name}, valueRow(t.Values)...))
	}
	if n := notNumbers(t.Values); n != "" {
		v.notes = append(v.notes, kernel+t.Name+n)
	}
}

func (v *valueTable) print(p *printer) {
	p.table(append([][]string{{"CONTENTS", "DIFFER", "NOT CLOSE", "BY UP TO", "RELATIVE", "FIRST", "A", "B"}}, v.rows...))
	for _, n := range v.notes {
		p.printf("%s\n", term.Printable(n))
	}
}

func (t *Tensor) brief() string {
	if t.Details == "" {
		return string(t.Status)
	}
	return string(t.Status) + ": " + t.Details
}

// briefStatuses says how many there is something to look at in.
func (d *TensorDiff) briefStatuses() string {
	differing, unknown := len(d.differing()), 0
	for _, t := range d.Tensors {
		if t.Status == NotCompared {
			unknown++
		}
	}
	text := fmt.Sprintf("%d match", len(d.Tensors)-unknown)
	switch {
	case len(d.Tensors) == 0:
		return "-"
	case differing > 0:
		text = fmt.Sprintf("%d of %d differ", differing, len(d.Tensors))
	}
	if unknown > 0 {
		text += fmt.Sprintf(", %d not compared", unknown)
	}
	return text
}

func valueRow(v *tensor.Difference) []string {
	most, relative := "-", "-" // only NaN or infinity differs, or B is 0 wherever it does
	if v.MaxAbsolute > 0 {
		most = fmt.Sprintf("%.4g", v.MaxAbsolute)
	}
	if v.MaxRelative > 0 {
		relative = fmt.Sprintf("%.4g", v.MaxRelative)
	}
	index := make([]string, len(v.First.Index))
	for i, n := range v.First.Index {
		index[i] = strconv.FormatInt(n, 10)
	}
	return []string{
		fmt.Sprintf("%d of %d", v.Differing, v.Elements), strconv.FormatInt(v.Beyond, 10), most, relative,
		"[" + strings.Join(index, ",") + "]", v.First.A, v.First.B,
	}
}

// notNumbers says which side has NaN or infinity; "" if none has.
func notNumbers(v *tensor.Difference) string {
	if v.NaNA+v.NaNB+v.InfiniteA+v.InfiniteB == 0 {
		return ""
	}
	return fmt.Sprintf(" has %d NaN and %d infinite elements in A, %d and %d in B", v.NaNA, v.InfiniteA, v.NaNB, v.InfiniteB)
}

// highlight says in a line what is the matter with a tensor.
func (t *Tensor) highlight() string {
	if v := t.Values; v != nil && v.MaxAbsolute > 0 {
		return fmt.Sprintf("%s: %d of %d elements differ, by up to %.3g", t.Name, v.Differing, v.Elements, v.MaxAbsolute)
	}
	return fmt.Sprintf("%s: %s", t.Name, t.Status)
}
