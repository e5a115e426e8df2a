package main

import (
	"fmt"
	"io"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse/nearby"
)

// takenAlong counts what happened to the files next to a trace when its records were copied.
type takenAlong struct {
	cubins, tensors int      // that are next to the copy now
	gone            []string // that are nowhere to be found
	failed          []string // why they could not be copied
	left            int      // tensors that were not asked for
}

// takeAlong copies files into the folder of a copy. A file that cannot be copied does not stop the copy of the records.
func takeAlong(files []nearby.File, folder string, tensors, replace bool) (t takenAlong) {
	defer fillsFolder()()
	for _, f := range files {
		switch {
		case f.From == "":
			if f.Why != "" {
				t.failed = append(t.failed, f.Why)
			} else {
				t.gone = append(t.gone, f.Name)
			}
			continue
		case f.Tensor && !tensors && !f.IsIn(folder):
			t.left++
			continue
		}
		_, err := f.CopyTo(folder, replace)
		switch {
		case err != nil:
			t.failed = append(t.failed, err.Error())
		case f.Tensor:
			t.tensors++
		default:
			t.cubins++
		}
	}
	return t
}

// count follows the counts of records.
func (t *takenAlong) count() (text string) {
	if t.cubins > 0 {
		text += ", " + figures.Count(t.cubins, "cubin")
	}
	if t.tensors > 0 {
		text += ", " + figures.Count(t.tensors, "tensor")
	}
	return text
}

// warn reports what the copy lacks, with one line for each reason.
func (t *takenAlong) warn(stderr io.Writer, output string) {
	say := func(text string) { tell(stderr, "%s", term.Printable(text)) }
	if len(t.gone) > 0 {
		say(firstOf(t.gone) + ": neither next to the trace nor where it was recorded; the records still name it")
	}
	if len(t.failed) > 0 {
		say("copy " + firstOf(t.failed))
	}
	if t.left > 0 {
		say(fmt.Sprintf("%s not copied; give --blobs to have them next to %s", figures.Count(t.left, "recorded tensor"), output))
	}
}

func firstOf(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return fmt.Sprintf("%s (and %d more)", all[0], len(all)-1)
}
