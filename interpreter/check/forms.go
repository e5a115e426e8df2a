package check

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/internal/version"
	"github.com/goproton/goproton/triton/mlir"
)

// Print writes findings for people: what happened, where, and the lines of the source if their files are there.
func Print(w io.Writer, list []*Finding) {
	for _, f := range list {
		fmt.Fprintf(w, "%s: %s\n", f.Kind, f.Text)
		times := ""
		if f.Count > 1 {
			times = fmt.Sprintf(", and %d times more", f.Count-1)
		}
		f.print(w, "  ", fmt.Sprintf("%s in %s%s", f.Op, f.Kernel, times))
		for i := range f.Others {
			o := &f.Others[i]
			o.print(w, "  ", o.Access+", "+o.Op)
		}
	}
}

func (p *Place) print(w io.Writer, indent, what string) {
	fmt.Fprintf(w, "%s%s: %s, %s\n", indent, p.where(), p.who(), what)
	for i, frame := range p.Frames {
		if i > 0 {
			fmt.Fprintf(w, "%sinlined at %s:%d\n", indent, frame.File, frame.Line)
		}
		if text := sourceLine(frame.File, frame.Line); text != "" {
			fmt.Fprintf(w, "%s  %d | %s\n", indent, frame.Line, text)
			if frame.Column > 1 && frame.Column <= len(text) {
				fmt.Fprintf(w, "%s  %*s | %*s\n", indent, len(fmt.Sprint(frame.Line)), "", frame.Column, "^")
			}
		}
	}
}

// sourceLine is a line of a file, with blanks for tabs; "" if it cannot be read.
func sourceLine(file string, line int) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		if n == line {
			return strings.TrimRight(strings.ReplaceAll(s.Text(), "\t", " "), " \r")
		}
	}
	return ""
}

// framesOf is a list in JSON, and not null, where there are no frames.
func framesOf(list []mlir.Frame) []mlir.Frame {
	if list == nil {
		return []mlir.Frame{}
	}
	return list
}

// MarshalJSON writes a place.
func (p Place) MarshalJSON() ([]byte, error) {
	type plain Place
	p.Frames = framesOf(p.Frames)
	return json.Marshal(plain(p))
}

// MarshalJSON writes a finding with the place's fields next to its own, where encoding/json finds them when it reads one.
func (f *Finding) MarshalJSON() ([]byte, error) {
	type place Place
	return json.Marshal(struct {
		Kind   string       `json:"kind"`
		Text   string       `json:"text"`
		Kernel string       `json:"kernel"`
		Buffer string       `json:"buffer,omitempty"`
		Count  int64        `json:"count"`
		Frames []mlir.Frame `json:"frames"`
		place
		Others []Place `json:"others,omitempty"`
	}{f.Kind, f.Text, f.Kernel, f.Buffer, max(f.Count, 1), framesOf(f.Frames), place(f.Place), f.Others})
}

// SARIF writes findings in the Static Analysis Results Interchange Format 2.1.0, which code hosts show next to the source. Files below root
// are named relative to it.
func SARIF(w io.Writer, list []*Finding, root string) error {
	type object = map[string]any
	rules, results, known := []object{}, []object{}, map[string]bool{}
	for _, f := range list {
		id := strings.ReplaceAll(strings.ToLower(f.Kind), " ", "-")
		if !known[id] {
			known[id] = true
			rules = append(rules, object{"id": id, "shortDescription": object{"text": descriptions[f.Kind]}})
		}
		text := fmt.Sprintf("%s by %s in %s", f.Text, f.who(), f.Kernel)
		result := object{"ruleId": id, "level": "error", "message": object{"text": text}, "occurrenceCount": max(f.Count, 1),
			"locations": []object{f.location(root)}, "properties": object{"program": f.Program, "lane": f.Lane, "op": f.Op, "buffer": f.Buffer}}
		related := []object{}
		for i := range f.Others {
			at := f.Others[i].location(root)
			at["message"] = object{"text": f.Others[i].Access + " by " + f.Others[i].who()}
			related = append(related, at)
		}
		if len(related) > 0 {
			result["relatedLocations"] = related
		}
		if len(f.Frames) > 1 {
			stack := []object{}
			for _, frame := range f.Frames {
				stack = append(stack, object{"location": physical(frame, root)})
			}
			result["stacks"] = []object{{"frames": stack}}
		}
		results = append(results, result)
	}
	driver := object{"name": "goproton", "version": version.Number, "informationUri": "https://github.com/goproton/goproton", "rules": rules}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(object{"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"runs": []object{{"tool": object{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}}})
}

// location of a place; one without a source has its line of TTIR in words.
func (p *Place) location(root string) map[string]any {
	if len(p.Frames) == 0 {
		return map[string]any{"message": map[string]any{"text": p.where()}}
	}
	return physical(p.Frames[0], root)
}

func physical(f mlir.Frame, root string) map[string]any {
	file := f.File
	if to, err := filepath.Rel(root, f.File); root != "" && err == nil && filepath.IsLocal(to) {
		file = to
	}
	region := map[string]any{"startLine": max(f.Line, 1)}
	if f.Column > 0 {
		region["startColumn"] = f.Column
	}
	return map[string]any{"physicalLocation": map[string]any{"artifactLocation": map[string]any{"uri": uriOf(file)}, "region": region}}
}

// uriOf is a path as SARIF has it.
func uriOf(file string) string {
	var b strings.Builder
	if filepath.IsAbs(file) {
		b.WriteString("file://")
	}
	for _, c := range []byte(filepath.ToSlash(file)) {
		if c == ' ' || c == '%' || c == '#' || c == '?' || c < 0x21 || c > 0x7E {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
