// Command pushserver is a server for tests: it takes profiles through the code that Pyroscope's and OpenTelemetry's published
// schemas are generated into, and writes what it took to standard output, a line of JSON for each profile. The first line is its URL.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	otlpcollector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	otlp "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// taken is a profile that was accepted.
type taken struct {
	Protocol string            `json:"protocol"`
	ID       string            `json:"id"`
	Labels   map[string]string `json:"labels"`
	Begin    int64             `json:"begin"`
	Duration int64             `json:"duration"`
	Totals   map[string]int64  `json:"totals"` // by call path, outermost frame first, and type
}

var lines sync.Mutex

func (t taken) print() {
	lines.Lock()
	defer lines.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(t)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	mux := http.NewServeMux()
	mux.Handle(pushv1connect.NewPusherServiceHandler(pyroscope{}))
	mux.HandleFunc("POST /v1development/profiles", takeOTLP)
	mux.HandleFunc("POST /v1/metrics", takeMetrics)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the test has ended when this does
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, http.Serve(listener, mux))
}

type pyroscope struct{}

func (pyroscope) Push(_ context.Context, r *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	if len(r.Msg.ProtoReflect().GetUnknown()) > 0 {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("fields that the schema lacks"))
	}
	for _, series := range r.Msg.Series {
		labels := map[string]string{}
		for _, l := range series.Labels {
			labels[l.Name] = l.Value
		}
		for _, sample := range series.Samples {
			p, err := profile.Parse(bytes.NewReader(sample.RawProfile))
			if err != nil {
				return nil, connect.NewError(connect.CodeInvalidArgument, err)
			}
			t := taken{"pyroscope", sample.ID, labels, p.TimeNanos, p.DurationNanos, map[string]int64{}}
			for _, s := range p.Sample {
				path := ""
				for _, l := range s.Location {
					path = "/" + l.Line[0].Function.Name + path
				}
				for i, v := range s.Value {
					t.add(path, p.SampleType[i].Type, v)
				}
			}
			t.print()
		}
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func (t *taken) add(path, kind string, v int64) {
	if v != 0 {
		t.Totals[path+" "+kind] += v
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

// readOTLP reads a request, and answers if it cannot.
func readOTLP(w http.ResponseWriter, r *http.Request, request proto.Message) bool {
	body, err := readBody(r)
	if err == nil {
		err = proto.Unmarshal(body, request)
	}
	if err == nil && len(request.ProtoReflect().GetUnknown()) > 0 {
		err = fmt.Errorf("fields that the schema lacks")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

func takeOTLP(w http.ResponseWriter, r *http.Request) {
	var request otlpcollector.ExportProfilesServiceRequest
	if !readOTLP(w, r, &request) {
		return
	}
	d := request.Dictionary
	for _, resource := range request.ResourceProfiles {
		labels := map[string]string{}
		for _, a := range resource.Resource.Attributes {
			labels[a.Key] = a.Value.GetStringValue()
		}
		for _, scope := range resource.ScopeProfiles {
			for _, p := range scope.Profiles {
				otlpProfile(d, p, labels).print()
			}
		}
	}
	answer, _ := proto.Marshal(&otlpcollector.ExportProfilesServiceResponse{})
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

func otlpProfile(d *otlp.ProfilesDictionary, p *otlp.Profile, labels map[string]string) taken {
	t := taken{"otlp", hex.EncodeToString(p.ProfileId), labels, int64(p.TimeUnixNano), int64(p.DurationNano), map[string]int64{}}
	for _, s := range p.Samples {
		path := ""
		for _, at := range d.StackTable[s.StackIndex].LocationIndices {
			line := d.LocationTable[at].Lines[0]
			path = "/" + d.StringTable[d.FunctionTable[line.FunctionIndex].NameStrindex] + path
		}
		t.add(path, d.StringTable[p.SampleType.TypeStrindex], s.Values[0])
	}
	return t
}
