package runinfo

import (
	"fmt"
	"time"
)

// The time between two samples of counters over time.
const (
	shortestPM = 200 * time.Microsecond
	longestPM  = time.Second
)

// ParsePM reads the time between two samples of counters over time, such as "1ms".
func ParsePM(text string) (time.Duration, error) {
	every, err := time.ParseDuration(text)
	if err != nil || every < shortestPM || every > longestPM {
		return 0, fmt.Errorf("read the time between two samples %q: give one from %v to %v, such as 1ms", text, shortestPM, longestPM)
	}
	return every, nil
}
