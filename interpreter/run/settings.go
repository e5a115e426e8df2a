// Package run is a run of the interpreter: what was asked, its launches, and what they did. The library in a Python process has runs, whose
// launches come from the hook; the command has one, whose launches come from folders that a run has saved.
//
//	r, err := run.New(run.Settings{Order: "reverse"})
//	launch, err := run.Read("launches/1-softmax_kernel/launch.json")
//	outcome, err := r.Launch(ctx, launch)
package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goproton/goproton/interpreter/check"
)

// Settings is what a run is to do. It is JSON on its way from the command through an environment variable and Python to the library; Python
// reads the fields that are marked so, and passes the others on.
type Settings struct {
	Kernels    []string   `json:"kernels,omitempty"` // Python: patterns of names, as in "softmax_*"; none is all
	Order      string     `json:"order,omitempty"`   // of program instances: see Orders
	Seed       uint64     `json:"seed,omitempty"`    // of --order shuffle and of --sample
	Workers    int        `json:"workers,omitempty"` // of --order parallel; 0 is one for each processor
	Programs   [][3]int32 `json:"programs,omitempty"`
	Sample     int        `json:"sample,omitempty"`      // so many program instances of each launch; 0 is all
	Form       string     `json:"form,omitempty"`        // Python: see Forms
	Target     string     `json:"target,omitempty"`      // Python: what kernels are compiled for, as in "cuda:90"
	Device     string     `json:"device,omitempty"`      // Python: "cpu" has tensors of GPUs made on the CPU
	Autotune   int        `json:"autotune,omitempty"`    // Python: the configuration of autotuned kernels, by its number
	MaxSteps   int64      `json:"max_steps,omitempty"`   // operations of each worker in one launch
	MaxSeconds float64    `json:"max_seconds,omitempty"` // of one launch
	Save       string     `json:"save,omitempty"`        // the folder for launches
	Unique     bool       `json:"unique,omitempty"`      // count different bytes
	Checks     []string   `json:"check,omitempty"`       // names, as check.Parse reads them
	KeepGoing  bool       `json:"keep_going,omitempty"`  // a finding does not end the program
	Scopes     bool       `json:"scopes,omitempty"`      // Python: counts are apart for each call path of open scopes
	Status     string     `json:"status,omitempty"`      // Python: the folder for reports to the command

	Debug bool     `json:"debug,omitempty"` // Python: stop at the first line, or at breakpoints
	Break []string `json:"break,omitempty"` // Python: as debug.Settings.Breakpoints
	Print []string `json:"print,omitempty"` // Python: as debug.Settings.Prints
	DAP   string   `json:"dap,omitempty"`   // Python: where editors connect: a port, or HOST:PORT
	Width int      `json:"width,omitempty"` // of the terminal
}

// Orders and Forms are what Settings.Order and Settings.Form may be; the first of each is what "" means.
var (
	Orders = []string{"serial", "reverse", "shuffle", "parallel", "cooperative"}
	Forms  = []string{"ttir", "front"}
)

// Check says what is wrong with settings, in the words of the command's flags.
func (s *Settings) Check() error {
	_, err := New(*s)
	return err
}

// check looks at what stands alone; New reads the rest.
func (s *Settings) check() error {
	for _, of := range []struct {
		flag, value string
		known       []string
	}{{"order", s.Order, Orders}, {"form", s.Form, Forms}, {"device", s.Device, []string{"cpu"}}} {
		if of.value != "" && !slices.Contains(of.known, of.value) {
			return fmt.Errorf("--%s %q: use %s", of.flag, of.value, strings.Join(of.known, " or "))
		}
	}
	for _, of := range []struct {
		flag  string
		value float64
	}{{"sample", float64(s.Sample)}, {"workers", float64(s.Workers)}, {"autotune", float64(s.Autotune)}, {"max-steps", float64(s.MaxSteps)}, {"max-seconds", s.MaxSeconds}} {
		if !(of.value >= 0) {
			return fmt.Errorf("--%s %g: give a number that is not negative", of.flag, of.value)
		}
	}
	if s.Sample > 0 && s.Programs != nil {
		return fmt.Errorf("--sample %d and --programs both choose program instances: give one of them", s.Sample)
	}
	return s.checkDebugging()
}

// checked are the checks that are asked for.
func (s *Settings) checked() (check.Set, error) {
	set, err := check.Parse(strings.Join(s.Checks, ","))
	if err != nil {
		return 0, fmt.Errorf("--check: %w", err)
	}
	return set, nil
}

// settingError says of settings that cannot be read which one is wrong, in the words of Python.
func settingError(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		wants := map[reflect.Kind]string{reflect.String: "a text", reflect.Bool: "True or False", reflect.Slice: "a list", reflect.Array: "a list of three numbers", reflect.Float64: "a number"}[kind.Type.Kind()]
		if wants == "" {
			wants = "a whole number that is not too large"
		}
		what, number, _ := strings.Cut(kind.Value, " ")
		given := map[string]string{"string": "a text", "number": "a number", "bool": "True or False", "array": "a list", "object": "a dictionary"}[what]
		return fmt.Errorf("the setting %s takes %s, and is %s", kind.Field[strings.LastIndexByte(kind.Field, '.')+1:], wants, cmp.Or(number, given))
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown { // which has no type of its own
		var names []string
		for _, f := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				names = append(names, name)
			}
		}
		return fmt.Errorf("there is no setting %s; there are %s", name, strings.Join(names, ", "))
	}
	return err
}
