package settings

import (
	"strconv"
	"strings"
)

// Size parses a number of bytes, with K, M, G or T for powers of 1,024: "512M", "10GiB". ok is false for other texts.
func Size(text string) (bytes int64, ok bool) {
	number, unit := strings.TrimSuffix(strings.ToUpper(text), "B"), int64(1)
	for i, suffix := range []string{"K", "M", "G", "T"} {
		if before, found := strings.CutSuffix(strings.TrimSuffix(number, "I"), suffix); found {
			number, unit = before, int64(1)<<(10*(i+1))
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, false
	}
	return n * unit, true
}
