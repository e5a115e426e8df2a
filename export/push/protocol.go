package push

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protowire"
)

// protocol is a way to send a series: one POST.
type protocol struct {
	name        string
	path        string // at the end of the URL
	port        string // that servers usually have
	contentType string
	encode      func(Series) ([]byte, error)
	answer      string // content type of the answer of a server that speaks the protocol
	// refused returns why the server did not take what it answered 200 to; "" if it did. nil: 200 means yes.
	refused func(body []byte) string
	gzip    bool // requests are compressed; those of the others have compressed profiles in them
}

// protocols are known by these names, on the command line and before a plus sign in the scheme of a URL. The first is taken
// where nothing else says which.
var protocols = []protocol{
	{"pyroscope", "/push.v1.PusherService/Push", "4040", "application/proto", encodePyroscope, "application/proto", nil, false},
	{"parca", "/api/profiles/writeraw", "7070", "application/json", encodeParca, "application/json", nil, false},
	{"otlp", "/v1development/profiles", "4318", "application/x-protobuf", encodeOTLP, "application/x-protobuf", refusedOTLP, true},
}

// Protocols are the names of the protocols, the default first.
func Protocols() (names []string) {
	for _, p := range protocols {
		names = append(names, p.name)
	}
	return names
}

func protocolNamed(name string) (protocol, error) {
	at := slices.IndexFunc(protocols, func(p protocol) bool { return p.name == strings.ToLower(name) })
	if at < 0 {
		return protocol{}, fmt.Errorf("unknown protocol %q: use %s", name, strings.Join(Protocols(), ", "))
	}
	return protocols[at], nil
}

// speaks reports whether an answer is that of a server of this protocol, not of a proxy or of another program.
func (p *protocol) speaks(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == p.answer
}

// compressed is a series' profile as a file of pprof.
func (s *Series) compressed() ([]byte, error) { return compress(s.raw) }

func compress(raw []byte) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, err := zip.Write(raw)
	if err := errors.Join(err, zip.Close()); err != nil {
		return nil, fmt.Errorf("compress a request: %w", err)
	}
	return out.Bytes(), nil
}

// encodePyroscope makes a push.v1.PushRequest. It has one series, so that the server stores all of it or nothing: of several
// it may store some and answer 429.
func encodePyroscope(s Series) ([]byte, error) {
	profile, err := s.compressed()
	if err != nil {
		return nil, err
	}
	var series []byte
	for _, l := range append([]Label{{"__name__", Name}}, s.Labels...) {
		pair := text(text(nil, 1, l.Name), 2, l.Value)
		series = message(series, 1, pair)
	}
	series = message(series, 2, text(message(nil, 1, profile), 2, s.ID))
	return message(nil, 1, series), nil
}

// encodeParca makes a parca.profilestore.v1alpha1.WriteRawRequest in JSON.
func encodeParca(s Series) ([]byte, error) {
	profile, err := s.compressed()
	if err != nil {
		return nil, err
	}
	type label struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	labels := []label{{"__name__", Name}}
	for _, l := range s.Labels {
		labels = append(labels, label(l))
	}
	return json.Marshal(map[string]any{"series": []any{map[string]any{
		"labels":  map[string]any{"labels": labels},
		"samples": []any{map[string][]byte{"rawProfile": profile}}, // in base64
	}}})
}

// text and message append a field of protobuf.
func text(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

func number(b []byte, field protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func numbers[N int32 | int64](b []byte, field protowire.Number, list ...N) []byte {
	var packed []byte
	for _, v := range list {
		packed = protowire.AppendVarint(packed, uint64(int64(v)))
	}
	return message(b, field, packed)
}
