package profile

import (
	"errors"
	"fmt"
)

// FormatError says where and why a file is not in the format that it was read as.
type FormatError struct {
	Offset int64 // of the byte that could not be understood, from 0, after decompression
	Reason string
	Cut    bool // the file ended there; what comes before may be of use
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

// ErrNoTimeline says that a profile has sums only, from which a format of timelines cannot be written.
var ErrNoTimeline = errors.New("this profile has no timeline; record one with proton run -d trace")
