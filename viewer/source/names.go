package source

import (
	"fmt"
	"strings"
)

// FirstNames lists the first kernels, and how many more there are.
func FirstNames[K any](kernels []K, most int, name func(K) string) string {
	var text strings.Builder
	for i, k := range kernels {
		if i == most {
			fmt.Fprintf(&text, " and %d more", len(kernels)-i)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(name(k))
	}
	return text.String()
}
