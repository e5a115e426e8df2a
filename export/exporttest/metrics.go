package exporttest

import (
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
)

// Counters are the values of the last points of each metric, by its name and attributes: those of the resource and its own, by name.
func (s *Server) Counters() map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counters)
}

// metrics takes an ExportMetricsServiceRequest. Field numbers are those of OpenTelemetry's published schema; TestSchemaOfCounters
// compares them.
func (s *Server) metrics(w http.ResponseWriter, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counters == nil {
		s.counters = map[string]float64{}
	}
	for _, resource := range Fields(body)[1] {
		fields := Fields(resource)
		common := attributes(Fields(fields[1][0])[1])
		for _, scope := range fields[2] {
			for _, metric := range Fields(scope)[2] {
				m := Fields(metric)
				for _, data := range append(m[5], m[7]...) {
					for _, point := range Fields(data)[1] {
						list := slices.Sorted(slices.Values(append(attributes(Fields(point)[7]), common...)))
						s.counters[First(m[1])+" "+strings.Join(list, " ")] = math.Float64frombits(uint64(scalar(point, 4)))
					}
				}
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// attributes are those of a list of KeyValue, as NAME=VALUE.
func attributes(list [][]byte) (out []string) {
	for _, one := range list {
		f := Fields(one)
		out = append(out, First(f[1])+"="+First(Fields(f[2][0])[1]))
	}
	return out
}
