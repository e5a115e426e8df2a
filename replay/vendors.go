package replay

import (
	"fmt"

	"github.com/goproton/goproton/gpu/vendors"
)

// stub is what a vendor's captures are played with: fake libraries below Parts.Stub.
type stub struct {
	// environment returns the variables by which the profiler finds the libraries in folder stubs. It may write into folder own.
	environment func(m Machine, stubs, own string) ([]string, error)
	versions    func(Machine) string // of the recorded libraries, as their vendor counts them
}

// stubOf returns the stub for the captures of a backend.
func stubOf(backend string) (*stub, error) {
	switch v, _ := vendors.ByBackend(backend); v {
	case vendors.NVIDIA:
		return &nvidia, nil
	case vendors.AMD:
		return &amd, nil
	}
	return nil, fmt.Errorf("it is of backend %q, which this version does not know; update GoProton", backend)
}
