package tritonparse

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/goproton/goproton/tritonparse/jsontext"
)

// ofOneLaunch are the members of an argument that say where its data are and what they hold. Launches that differ in
// nothing else are of one kind.
func ofOneLaunch(name string) bool {
	switch name {
	case "data_ptr", "min", "max", "mean", "std", "tensor_capture_error", "tensor_hash", "blob_path", "blob_size",
		"blob_size_uncompressed", "compression", "compression_ratio", "serialization_method", "deduplicated", "error":
		return true
	}
	return false
}

var kindForm = jsontext.Form{ASCII: true, Drop: ofOneLaunch}

// LaunchKind names what launches of one specialisation with the same grid and the same arguments have in common,
// addresses and values of tensors apart: 16 hexadecimal digits of a SHA-256. hash is Triton's compile hash, the rest are
// the members of a launch record; nil, for a record without them, counts as null.
func LaunchKind(hash string, grid, extractedArgs json.RawMessage) string {
	text := make([]byte, 0, 1<<10)
	text = append(append(text, hash...), '\n')
	text = append(appendForKind(text, grid), '\n')
	sum := sha256.Sum256(appendForKind(text, extractedArgs))
	return hex.EncodeToString(sum[:8])
}

func appendForKind(text []byte, value json.RawMessage) []byte {
	if len(value) == 0 {
		return append(text, "null"...)
	}
	return kindForm.Append(text, value)
}
