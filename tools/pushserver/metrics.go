package main

import (
	"encoding/json"
	"net/http"
	"os"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// point is a value of a metric that was accepted.
type point struct {
	Protocol   string            `json:"protocol"`
	Name       string            `json:"name"`
	Unit       string            `json:"unit"`
	Counter    bool              `json:"counter"` // a cumulative sum that only grows
	Resource   map[string]string `json:"resource"`
	Attributes map[string]string `json:"attributes"`
	Start      uint64            `json:"start"`
	Time       uint64            `json:"time"`
	Value      float64           `json:"value"`
}

// takeMetrics takes an ExportMetricsServiceRequest, whose only field is that of MetricsData. The package of the former needs gRPC.
func takeMetrics(w http.ResponseWriter, r *http.Request) {
	var request metrics.MetricsData
	if !readOTLP(w, r, &request) {
		return
	}
	lines.Lock()
	defer lines.Unlock()
	for _, resource := range request.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				points := m.GetGauge().GetDataPoints()
				if sum := m.GetSum(); sum != nil {
					points = sum.DataPoints
				}
				for _, p := range points {
					_ = json.NewEncoder(os.Stdout).Encode(point{"otlp metrics", m.Name, m.Unit,
						m.GetSum().GetIsMonotonic() && m.GetSum().AggregationTemporality == metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
						texts(resource.Resource.Attributes), texts(p.Attributes), p.StartTimeUnixNano, p.TimeUnixNano, p.GetAsDouble()})
				}
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func texts(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		out[a.Key] = a.Value.GetStringValue()
	}
	return out
}
