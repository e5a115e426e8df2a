package jsontext

// Diagnostic is a failure in the form of the answer.
type Diagnostic struct {
	Message string `json:"message" jsonschema:"what failed, with which value, and what to do"`
	Next    string `json:"next,omitempty" jsonschema:"command to run next"`
}
