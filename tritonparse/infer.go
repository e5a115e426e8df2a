package tritonparse

import (
	"bytes"

	"github.com/goproton/goproton/internal/jsontext"
)

// inference is a compilation that was not traced, as far as its first launch tells it.
type inference struct {
	line              []byte // the record without its end
	stack, parameters []byte
}

func infer(l *launch, compat bool) *inference {
	value := func(member string, path ...string) []byte {
		if v := l.value(member, path...); v != nil {
			return v
		}
		return null
	}
	stack := bytes.Clone(l.value("stack"))
	if stack == nil {
		stack = []byte("[]")
	}
	out := make([]byte, 0, len(stack)+1024)
	out = appendMember(out, "event_type", []byte(`"compilation"`))
	out = appendMember(out, "is_fake", []byte("true"))
	out = appendMember(out, "fake_reason", jsontext.Quote("No compilation event found; inferred from launch event"))
	for _, name := range []string{"pid", "timestamp"} {
		out = appendMember(out, name, value(name))
	}
	out = appendMember(out, "stack", stack)
	var metadata []byte
	metadata = appendMember(metadata, "hash", jsontext.Quote(l.hash))
	metadata = appendMember(metadata, "name", jsontext.Quote(l.name))
	for _, name := range []string{"num_warps", "num_stages", "num_ctas", "maxnreg", "cluster_dims"} {
		if v := value("compilation_metadata", name); compat || string(v) != "null" { // the schema has numbers only
			metadata = appendMember(metadata, name, v)
		}
	}
	payload := appendMember(nil, "metadata", append(metadata, '}'))
	payload = appendMember(payload, "file_content", []byte("{}"))
	payload = appendMember(payload, "file_path", []byte("{}"))
	i := &inference{line: append(appendMember(out, "payload", append(payload, '}')), ','), stack: stack}
	i.parameters = tunedParameters(func(name string) []byte { return l.value("compilation_metadata", name) })
	return i
}
