package msgpack

import (
	"testing"

	"github.com/goproton/goproton/profile/internal/profiletest"
)

func TestInsideRoundTrip(t *testing.T) { roundTrips(t, profiletest.Instrument) }

// Whatever a byte is changed to, a file of instrumented kernels is read or refused.
func TestInsideSurvivesAnyByte(t *testing.T) { survivesAnyByte(t, profiletest.Instrument) }
