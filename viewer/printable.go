package viewer

import "github.com/goproton/goproton/internal/term"

// printable returns a name as it may be sent to a terminal. Whatever a view takes from a profile goes through it:
// Table.Label and Table.Text do.
func printable(name string) string { return term.Printable(name) }
