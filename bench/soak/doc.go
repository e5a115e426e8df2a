// Package soak has no code of the product: its test runs a profiled program for hours, next to a server that fails now and then, and
// looks at what grows. tools/soak.sh starts it.
package soak
