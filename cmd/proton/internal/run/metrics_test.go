package run

import (
	"math"
	"strings"
	"testing"
)

func TestCheckMetrics(t *testing.T) {
	for _, c := range []struct {
		metrics Metrics
		data    string
		want    string
	}{
		{Metrics{Address: "9464", Wait: 60, Scopes: 200}, "tree", ""},
		{Metrics{Wait: -1}, "tree", ""}, // nothing is served
		{Metrics{Address: "9464"}, "trace", "--metrics needs --data tree"},
		{Metrics{Address: "9464", Wait: -1}, "tree", "--metrics-wait -1: give 0 to 31536000 seconds"},
		{Metrics{Address: "9464", Wait: 1e300}, "tree", "--metrics-wait 1e+300: give 0 to"},
		{Metrics{Address: "9464", Wait: math.NaN()}, "tree", "--metrics-wait NaN: give 0 to"},
		{Metrics{Address: "9464", Scopes: -1}, "tree", "--metrics-scopes -1 is negative"},
		{Metrics{Address: "a:b:c"}, "tree", "--metrics "},
	} {
		o := Options{Metrics: c.metrics}
		o.Data = c.data
		err := o.CheckMetrics()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.metrics, err, c.want)
		}
	}
}
