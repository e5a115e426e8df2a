package vendors

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNone is wrapped by the error of Choose if there are no candidates.
var ErrNone = errors.New("no libcupti found")

// Choose returns the candidate to open, and why. driverCUDA is the CUDA version of the driver as cuDriverGetVersion returns it
// (13000 for 13.0), 0 if it is not known.
//
// A library that the user names, or that the process has loaded, is chosen whatever its version: two of them in one process disturb
// each other. Of the others, the first with the driver's major version is chosen, else the first that is not newer than the
// driver: a newer one does not initialise.
func Choose(candidates []Candidate, driverCUDA int) (chosen Candidate, why string, err error) {
	driver := driverCUDA / 1000
	if len(candidates) == 0 {
		return Candidate{}, "", fmt.Errorf("%w (searched %s): %s", ErrNone, searched(), Remedy(driver))
	}
	if first := candidates[0]; first.Origin == FromProtonEnv {
		if first.Reason != "" {
			return Candidate{}, "", fmt.Errorf("open PROTON_CUPTI_PATH=%s: %s: unset it to search the usual places", first.Path, first.Reason)
		}
		return first, "PROTON_CUPTI_PATH names it", nil
	}
	for _, c := range candidates {
		if c.Origin == FromProcess {
			return c, "the process has loaded it already", nil
		}
	}
	usable := -1
	for i, c := range candidates {
		switch {
		case c.Reason != "" || tooNew(c, driver):
		case driver != 0 && c.Major == driver:
			return c, fmt.Sprintf("first that was made for CUDA %d, as the driver is", driver), nil
		case usable < 0:
			usable = i
		}
	}
	switch {
	case usable < 0:
		return Candidate{}, "", fmt.Errorf("every libcupti found is newer than the driver (CUDA %d.%d) or unusable: %s", driver, driverCUDA%1000/10, Remedy(driver))
	case driver == 0:
		return candidates[usable], "first in the order of the search (the driver's version is not known)", nil
	}
	return candidates[usable], fmt.Sprintf("first that is not newer than the driver (CUDA %d.%d); none is of the same major version", driver, driverCUDA%1000/10), nil
}

func tooNew(c Candidate, driver int) bool {
	return driver != 0 && c.Major > driver
}

func searched() string {
	return strings.Join(originNames[:], ", ")
}

// Remedy says how to get a libcupti that fits a driver's CUDA major version.
func Remedy(driver int) string {
	wheel := "nvidia-cuda-cupti"
	if driver == 11 || driver == 12 {
		wheel = fmt.Sprintf("nvidia-cuda-cupti-cu%d", driver)
	}
	return fmt.Sprintf("pip install %s, or set PROTON_CUPTI_PATH to a libcupti.so of a CUDA toolkit", wheel)
}
