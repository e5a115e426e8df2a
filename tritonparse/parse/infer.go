package parse

import (
	"bytes"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// inference is a compilation that was not traced, with the facts that its first launch holds.
type inference struct {
	line              []byte // the record without its end
	stack, parameters []byte
}

func infer(l *launchtext.Launch, q quirks.Set) *inference {
	value := func(member string, path ...string) []byte {
		if v := l.Value(member, path...); v != nil {
			return v
		}
		return ndjson.Null
	}
	stack := bytes.Clone(l.Value("stack"))
	if stack == nil {
		stack = []byte("[]")
	}
	out := make([]byte, 0, len(stack)+1024)
	out = ndjson.AppendMember(out, "event_type", []byte(`"compilation"`))
	out = ndjson.AppendMember(out, "is_fake", []byte("true"))
	out = ndjson.AppendMember(out, "fake_reason", jsontext.Quote("No compilation event found; inferred from launch event"))
	for _, name := range []string{"pid", "timestamp"} {
		out = ndjson.AppendMember(out, name, value(name))
	}
	out = ndjson.AppendMember(out, "stack", stack)
	var metadata []byte
	metadata = ndjson.AppendMember(metadata, "hash", jsontext.Quote(l.Hash))
	metadata = ndjson.AppendMember(metadata, "name", jsontext.Quote(l.Name))
	for _, name := range []string{"num_warps", "num_stages", "num_ctas", "maxnreg", "cluster_dims"} {
		if v := value("compilation_metadata", name); q.Has(quirks.InferredNulls) || string(v) != "null" { // the schema has numbers only
			metadata = ndjson.AppendMember(metadata, name, v)
		}
	}
	payload := ndjson.AppendMember(nil, "metadata", append(metadata, '}'))
	payload = ndjson.AppendMember(payload, "file_content", []byte("{}"))
	payload = ndjson.AppendMember(payload, "file_path", []byte("{}"))
	i := &inference{line: append(ndjson.AppendMember(out, "payload", append(payload, '}')), ','), stack: stack}
	i.parameters = tunedParameters(func(name string) []byte { return l.Value("compilation_metadata", name) })
	return i
}
