package term

import "github.com/goproton/goproton/internal/foreign"

// Printable returns a name as it may be sent to a terminal. Package foreign says how.
func Printable(name string) string { return foreign.Printable(name) }
