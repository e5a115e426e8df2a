package exporttest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	pprof "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// Stored is one profile that a server has accepted.
type Stored struct {
	ID      string
	Labels  map[string]string
	Profile *pprof.Profile
}

// Server is a server that keeps everything in memory.
type Server struct {
	*httptest.Server
	// Before is asked at each request; it may answer itself and return true. nil: never.
	Before func(w http.ResponseWriter, r *http.Request, n int) (answered bool)
	// Oldest is the age of a profile beyond which it is refused.
	Oldest time.Duration
	// Take gets what is accepted, and the server keeps neither that nor headers. nil: it keeps everything in memory.
	Take func([]Stored)

	mu       sync.Mutex
	requests int
	stored   []Stored
	counters map[string]float64
	seen     []http.Header
}

// New starts a server that speaks all protocols, until the test ends.
func New(t testing.TB) *Server {
	s := &Server{Oldest: time.Hour}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// NewTLS starts one whose certificate no machine trusts.
func NewTLS(t testing.TB) *Server {
	s := &Server{Oldest: time.Hour}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

// Stored returns what has been accepted so far.
func (s *Server) Stored() []Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.stored)
}

// Requests counts requests. Headers has those of each that Before did not answer.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Headers is described with Requests.
func (s *Server) Headers() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Totals adds up the values of all profiles by labels, call path and sample type.
func (s *Server) Totals() map[string]int64 {
	out := map[string]int64{}
	for _, one := range s.Stored() {
		Add(out, one.Labels["gpu"], one.Profile)
	}
	return out
}

// Add adds up the values of a profile by call path, outermost frame first, and sample type.
func Add(out map[string]int64, label string, p *pprof.Profile) {
	for _, sample := range p.Sample {
		path := label
		for _, l := range slices.Backward(sample.Location) {
			for _, line := range slices.Backward(l.Line) {
				path += "/" + line.Function.Name
			}
		}
		for i, v := range sample.Value {
			if v != 0 {
				out[path+" "+p.SampleType[i].Type] += v
			}
		}
	}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	n := s.requests
	before := s.Before
	s.mu.Unlock()
	if before != nil && before(w, r, n) {
		return
	}
	if s.Take == nil {
		s.mu.Lock()
		s.seen = append(s.seen, r.Header.Clone())
		s.mu.Unlock()
	}
	body, err := readBody(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "%v", err)
		return
	}
	switch r.URL.Path {
	case "/push.v1.PusherService/Push":
		s.pyroscope(w, r, body)
	case "/v1development/profiles":
		s.otlp(w, r, body)
	case "/v1/metrics":
		s.metrics(w, body)
	case "/api/profiles/writeraw":
		s.parca(w, r, body)
	default:
		http.NotFound(w, r)
	}
}

// readBody reads a request, which gzip may have compressed.
func readBody(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	zip, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zip)
}

// refuse answers as Connect does.
func refuse(w http.ResponseWriter, code int, why string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	text, _ := json.Marshal(map[string]string{"code": "invalid_argument", "message": fmt.Sprintf(why, args...)})
	w.Write(text) //nolint:errcheck // the client's business
}

// pyroscope takes a push.v1.PushRequest. Field numbers are those of Pyroscope's published schema; TestSchemas compares them.
func (s *Server) pyroscope(w http.ResponseWriter, r *http.Request, body []byte) {
	if kind := r.Header.Get("Content-Type"); kind != "application/proto" {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	var all []Stored
	for _, series := range Fields(body)[1] {
		fields := Fields(series)
		labels := map[string]string{}
		for _, pair := range fields[1] {
			f := Fields(pair)
			labels[First(f[1])] = First(f[2])
		}
		for _, sample := range fields[2] {
			f := Fields(sample)
			p, why := s.check(f[1], labels)
			if why != "" {
				refuse(w, http.StatusBadRequest, "%s", why)
				return
			}
			all = append(all, Stored{First(f[2]), labels, p})
		}
	}
	s.keep(all)
	w.Header().Set("Content-Type", "application/proto")
}

// parca takes a WriteRawRequest in JSON, with the names of Parca's published schema.
func (s *Server) parca(w http.ResponseWriter, _ *http.Request, body []byte) {
	var request struct {
		Series []struct {
			Labels struct {
				Labels []struct{ Name, Value string }
			}
			Samples []struct{ RawProfile []byte }
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		refuse(w, http.StatusBadRequest, "%v", err)
		return
	}
	var all []Stored
	for _, series := range request.Series {
		labels := map[string]string{}
		for _, l := range series.Labels.Labels {
			labels[l.Name] = l.Value
		}
		for _, sample := range series.Samples {
			p, why := s.check([][]byte{sample.RawProfile}, labels)
			if why != "" {
				refuse(w, http.StatusBadRequest, "%s", why)
				return
			}
			all = append(all, Stored{"", labels, p})
		}
	}
	s.keep(all)
	w.Header().Set("Content-Type", "application/json")
	w.Write([]byte("{}")) //nolint:errcheck // the client's business
}

func (s *Server) keep(all []Stored) {
	if s.Take != nil {
		s.Take(all)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = append(s.stored, all...)
}

var (
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
)

// check says what a real server does not take of a profile.
func (s *Server) check(raw [][]byte, labels map[string]string) (*pprof.Profile, string) {
	if len(raw) != 1 {
		return nil, "a sample without a profile"
	}
	p, err := pprof.ParseData(raw[0])
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, "no pprof: " + err.Error()
	}
	switch name := labels["__name__"]; {
	case name == "":
		return nil, "no __name__"
	case labels["service_name"] == "":
		return nil, "no service_name"
	case len(labels) > 30:
		return nil, "more than 30 labels"
	case len(p.Sample) > 16_000:
		return nil, fmt.Sprintf("%d samples exceed the limit of 16000", len(p.Sample))
	case s.Oldest > 0 && p.TimeNanos < time.Now().Add(-s.Oldest).UnixNano():
		return nil, "profile rejected because it is too old"
	case p.TimeNanos > time.Now().Add(10*time.Minute).UnixNano():
		return nil, "profile rejected because it is from the future"
	}
	for name, value := range labels {
		if !labelName.MatchString(name) || !utf8.ValidString(value) || value == "" || len(value) > 2048 {
			return nil, fmt.Sprintf("invalid label %q=%q", name, value)
		}
	}
	return p, contents(p)
}

// contents says what a real server does not take of a profile's tables and stacks.
func contents(p *pprof.Profile) string {
	for _, t := range append([]*pprof.ValueType{p.PeriodType}, p.SampleType...) {
		if !metricName.MatchString(t.Type) || !metricName.MatchString(t.Unit) {
			return fmt.Sprintf("invalid profile type %s/%s", t.Type, t.Unit)
		}
	}
	for i, f := range p.Function {
		if f.ID != uint64(i+1) || f.Name == "" || !utf8.ValidString(f.Name) || len(f.Name) > 65_535 {
			return fmt.Sprintf("function %d is %d %q", i+1, f.ID, f.Name)
		}
	}
	for i, l := range p.Location {
		if l.ID != uint64(i+1) || len(l.Line) == 0 || slices.ContainsFunc(l.Line, func(l pprof.Line) bool { return l.Function == nil }) {
			return fmt.Sprintf("location %d has id %d, or no function", i+1, l.ID)
		}
	}
	for _, s := range p.Sample {
		switch {
		case len(s.Location) == 0 || len(s.Location) > 1000:
			return fmt.Sprintf("a stack of %d frames", len(s.Location))
		case len(s.Label)+len(s.NumLabel) > 0:
			return "labels of samples make series of their own in Pyroscope, and vanish in Parca"
		case slices.Min(s.Value) < 0 || slices.Max(s.Value) == 0:
			return fmt.Sprintf("a sample with values %v", s.Value)
		}
	}
	var raw bytes.Buffer
	if err := p.WriteUncompressed(&raw); err != nil || raw.Len() > 4<<20 {
		return fmt.Sprintf("%d bytes exceed the limit of 4 MiB (%v)", raw.Len(), err)
	}
	return ""
}

// Fields returns the fields of a message that are bytes, by number.
func Fields(b []byte) map[protowire.Number][][]byte {
	out := map[protowire.Number][][]byte{}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		b = b[n:]
		if kind == protowire.BytesType {
			data, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return nil
			}
			out[field] = append(out[field], data)
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(field, kind, b); n < 0 {
			return nil
		}
		b = b[n:]
	}
	return out
}

// First is the first of several values as text.
func First(list [][]byte) string {
	if len(list) == 0 {
		return ""
	}
	return string(list[0])
}
