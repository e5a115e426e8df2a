package runinfo

import (
	"fmt"
	"regexp"
	"slices"
)

// Push has a session put what it records in each interval into a spool, from which another process sends it.
type Push struct {
	Spool   string            `json:"spool"` // folder, which exists
	Seconds float64           `json:"seconds"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// SpoolStatus is what a process has put into its spool.
type SpoolStatus struct {
	Windows int64 `json:"windows"` // written
	Bytes   int64 `json:"bytes"`   // of them
	Evicted int64 `json:"evicted"` // deleted before they were sent, to make room
}

// PushStatus is what a process has done with its windows.
type PushStatus struct {
	SpoolStatus
	Dropped int64 `json:"dropped"` // could not be written
}

// Add adds what another process has done.
func (s *PushStatus) Add(o PushStatus) {
	s.Windows += o.Windows
	s.Bytes += o.Bytes
	s.Evicted += o.Evicted
	s.Dropped += o.Dropped
}

// Since is what the same process has done after it had done o.
func (s PushStatus) Since(o PushStatus) PushStatus {
	s.Windows -= o.Windows
	s.Bytes -= o.Bytes
	s.Evicted -= o.Evicted
	s.Dropped -= o.Dropped
	return s
}

// Keys of the facts of a window in a spool, in addition to those of a profile.
const (
	InfoLabel = "label:" // before the name of a label

	LabelService = "service_name" // as Pyroscope and OpenTelemetry call the program
	LabelJob     = "job"
)

// MostLabels is how many labels a user gives at most, with service and job: Pyroscope takes 30 of all.
const MostLabels = 20

var (
	labelName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,63}$`)
	ownLabels = []string{"host", "rank", "gpu", "replay"}
)

// CheckLabel says why a label cannot have a name.
func CheckLabel(name string) error {
	if !labelName.MatchString(name) {
		return fmt.Errorf("a label cannot be called %q: a name has letters, digits and underscores, begins with a letter and has at most 64 of them", name)
	}
	return nil
}

// CheckLabels says why a user cannot give these labels.
func CheckLabels(labels map[string]string) error {
	if len(labels) > MostLabels {
		return fmt.Errorf("%d labels are too many: give at most %d, because servers take 30 with their own", len(labels), MostLabels)
	}
	for name := range labels {
		if slices.Contains(ownLabels, name) {
			return fmt.Errorf("the label %s is GoProton's own: choose another name", name)
		}
		if err := CheckLabel(name); err != nil {
			return err
		}
	}
	return nil
}
