package record

import "fmt"

// Refused is the error of a vendor's library that has refused an operation: its code, what that is called, if it is known, and what to do.
func Refused(doing, library string, code int, text, remedy string) error {
	if text != "" {
		text = " (" + text + ")"
	}
	if remedy != "" {
		remedy = ": " + remedy
	}
	return fmt.Errorf("%s: %s error %d%s%s", doing, library, code, text, remedy)
}
