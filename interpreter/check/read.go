package check

import (
	"encoding/json"

	"github.com/goproton/goproton/triton/mlir"
)

// UnmarshalJSON reads what MarshalJSON wrote: the processes of a program report their findings to the command.
func (p *Place) UnmarshalJSON(raw []byte) error {
	type plain Place
	read := struct {
		*plain
		Frames []frame `json:"frames"`
	}{plain: (*plain)(p)}
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	p.Frames = nil
	for _, f := range read.Frames {
		p.Frames = append(p.Frames, mlir.Frame{File: f.File, Line: f.Line, Column: f.Column})
	}
	return nil
}

// UnmarshalJSON is as that of Place.
func (f *Finding) UnmarshalJSON(raw []byte) error {
	if err := f.Place.UnmarshalJSON(raw); err != nil {
		return err
	}
	rest := struct {
		Kind, Text, Kernel, Buffer *string
		Count                      *int64
		Others                     *[]Place
	}{&f.Kind, &f.Text, &f.Kernel, &f.Buffer, &f.Count, &f.Others}
	return json.Unmarshal(raw, &rest)
}
