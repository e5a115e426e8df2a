package check

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/triton/mlir"
)

// someFindings are one with a source that is there, inlined, and one without a source.
func someFindings(t *testing.T) (list []*Finding, root string) {
	root = t.TempDir()
	file := filepath.Join(root, "a kernel.py")
	if err := os.WriteFile(file, []byte("one\n    x = tl.load(p)\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := Place{Op: "tt.load", Access: "read", Frames: []mlir.Frame{{File: file, Line: 2, Column: 9}, {File: file, Line: 3, Column: 1}}, Program: [3]int32{1, 2, 3}, Lane: 17, Index: []int{1, 1}}
	other := Place{Op: "tt.store", Access: "write", Frames: at.Frames[1:], Program: [3]int32{4, 0, 0}, Lane: -1}
	return []*Finding{{Kind: Race, Text: "read of x", Place: at, Kernel: "k", Buffer: "x", Others: []Place{other}, Count: 3},
		{Kind: Steps, Text: "too many", Place: Place{Line: 7, Op: "scf.for"}, Kernel: "k", Count: 1}}, root
}

// TestPrint: findings for people, with the lines of the source and a mark below the column.
func TestPrint(t *testing.T) {
	list, root := someFindings(t)
	var b bytes.Buffer
	Print(&b, list)
	want := `race: read of x
  a kernel.py:2:9: program (1, 2, 3), lane 17 [1, 1], tt.load in k, and 2 times more
    2 |     x = tl.load(p)
      |         ^
  inlined at a kernel.py:3
    3 | three
  a kernel.py:3:1: program (4, 0, 0), write, tt.store
    3 | three
steps: too many
  line 7 of the TTIR: program (0, 0, 0), lane 0, scf.for in k
`
	if got := strings.ReplaceAll(b.String(), root+string(filepath.Separator), ""); got != want {
		t.Errorf("%s", got)
	}
}

// TestSARIF: the shape that the standard asks for: a version, a run with its tool and the rules that results name, and results with a message
// and locations whose files have names relative to the checkout.
func TestSARIF(t *testing.T) {
	list, root := someFindings(t)
	var b bytes.Buffer
	if err := SARIF(&b, list, root); err != nil {
		t.Fatal(err)
	}
	type location struct {
		PhysicalLocation struct {
			ArtifactLocation struct{ URI string }
			Region           struct{ StartLine, StartColumn int }
		}
		Message struct{ Text string }
	}
	var log struct {
		Version string
		Schema  string `json:"$schema"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID               string
						ShortDescription struct{ Text string }
					}
				}
			}
			Results []struct {
				RuleID, Level    string
				Message          struct{ Text string }
				OccurrenceCount  int
				Locations        []location
				RelatedLocations []location
				Stacks           []struct{ Frames []struct{ Location location } }
			}
		}
	}
	d := json.NewDecoder(&b)
	if err := d.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || len(log.Runs) != 1 {
		t.Fatalf("%+v", log)
	}
	run := log.Runs[0]
	ids := map[string]bool{}
	for _, r := range run.Tool.Driver.Rules {
		ids[r.ID] = r.ShortDescription.Text != ""
	}
	if run.Tool.Driver.Name == "" || run.Tool.Driver.Version == "" || len(run.Results) != 2 {
		t.Fatalf("%+v", run)
	}
	for _, r := range run.Results {
		if !ids[r.RuleID] || r.Level != "error" || r.Message.Text == "" || len(r.Locations) != 1 || r.OccurrenceCount < 1 {
			t.Errorf("%+v", r)
		}
	}
	race := run.Results[0]
	if at := race.Locations[0].PhysicalLocation; at.ArtifactLocation.URI != "a%20kernel.py" || at.Region.StartLine != 2 || at.Region.StartColumn != 9 || race.OccurrenceCount != 3 {
		t.Errorf("%+v", race)
	}
	if len(race.RelatedLocations) != 1 || race.RelatedLocations[0].PhysicalLocation.Region.StartLine != 3 || race.RelatedLocations[0].Message.Text == "" || len(race.Stacks) != 1 || len(race.Stacks[0].Frames) != 2 {
		t.Errorf("%+v", race)
	}
	for _, kind := range []string{OutOfBounds, Assertion, Assumption, Steps, Loop, Descriptor, Race, UninitialisedValue, WrongHint, DuplicateAddresses, IntegerOverflow, BirthOfNaN, BirthOfInfinity, Deadlock, NotSupported} {
		if descriptions[kind] == "" {
			t.Errorf("%s is not described", kind)
		}
	}
}

// TestList: one finding of each kind and line is kept, and the others are counted.
func TestList(t *testing.T) {
	var l List
	for i := range 3*MaxFindings + 5 {
		l.Add(&Finding{Kind: Race, Place: Place{Line: i % (MaxFindings + 5)}})
	}
	list, more := l.All()
	if len(list) != MaxFindings || more != 10 || list[0].Count != 3 {
		t.Errorf("%d, %d, %+v", len(list), more, list[0])
	}
}

// TestParse: names of checks, and what is said of others.
func TestParse(t *testing.T) {
	for text, want := range map[string]Set{"": 0, "race, uninit": Races | Uninitialised, "all": All, "bounds,nan": NaN} {
		if s, err := Parse(text); err != nil || s != want {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	if _, err := Parse("race,rice"); err == nil || !strings.Contains(err.Error(), `"rice"`) || !strings.Contains(err.Error(), "race, uninit") {
		t.Errorf("%v", err)
	}
	if s, err := Parse(All.String()); err != nil || s != All {
		t.Errorf("%v, %v", s, err)
	}
}
