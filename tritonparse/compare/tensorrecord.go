package compare

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/tensor"
)

// theirs are tritonparse's words.
var theirs = map[Status]string{
	Identical: "identical", Equal: "identical", SameStatistics: "identical", Close: "close", CloseStatistics: "close",
	OtherContents: "divergent", OtherStatistics: "divergent", OtherType: "dtype_mismatch", OtherShape: "shape_mismatch", NotCompared: "skipped",
}

func (d *TensorDiff) record() object {
	counts := map[string]int{}
	each := object{}
	for i := range d.Tensors {
		t := &d.Tensors[i]
		status := theirs[t.Status]
		each = append(each, member{t.Name, object{
			{"arg_name", t.Name}, {"status", status}, {"shape_a", t.a.Shape}, {"shape_b", t.b.Shape}, {"dtype_a", t.a.Dtype}, {"dtype_b", t.b.Dtype},
			{"metrics", d.metrics(t)}, {"metadata_a", orNull(t.a.Raw)}, {"metadata_b", orNull(t.b.Raw)},
		}})
		if t.Status.differs() {
			status = "divergent" // or another type or shape
		}
		counts[status]++
	}
	compared := len(d.Tensors) - counts["skipped"]
	status := "close"
	switch {
	case compared == 0:
		status = "skipped"
	case counts["divergent"] > 0:
		status = "divergent"
	case counts["identical"] == compared:
		status = "identical"
	}
	return object{
		{"status", status}, {"args_compared", compared}, {"args_identical", counts["identical"]}, {"args_close", counts["close"]}, {"args_divergent", counts["divergent"]},
		{"atol", d.tolerance.Absolute}, {"rtol", d.tolerance.Relative}, {"warning", nil}, {"per_arg", each},
		{"dtype_inventory_a", inventory(d.typesA)}, {"dtype_inventory_b", inventory(d.typesB)}, {"dtype_mismatches", []string{}},
	}
}

func inventory(types map[string]string) object {
	o := object{}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		o = append(o, member{name, types[name]})
	}
	return o
}

// metrics are the numbers by which a tensor was judged.
func (d *TensorDiff) metrics(t *Tensor) object {
	switch {
	case t.Status == Identical: // which took no reading
		return object{{"max_abs_error", 0}, {"allclose", true}, {"num_mismatched_elements", 0}, {"mismatch_ratio", 0}, {"comparison_mode", "blob"}}
	case t.Values != nil:
		return d.valueMetrics(t.Values)
	case t.a.Stats != nil && t.b.Stats != nil:
		return d.statisticMetrics(t.a.Stats, t.b.Stats)
	}
	return object{}
}

func (d *TensorDiff) valueMetrics(v *tensor.Difference) object {
	ratio := 0.0
	if v.Elements > 0 {
		ratio = float64(v.Beyond) / float64(v.Elements)
	}
	return object{
		{"max_abs_error", v.MaxAbsolute}, {"mean_abs_error", v.MeanAbsolute}, {"max_rel_error", v.MaxRelative}, {"rmse", v.RMS}, {"cosine_similarity", v.Cosine},
		{"allclose", v.Beyond == 0}, {"atol", d.tolerance.Absolute}, {"rtol", d.tolerance.Relative},
		{"nan_count_a", v.NaNA}, {"nan_count_b", v.NaNB}, {"inf_count_a", v.InfiniteA}, {"inf_count_b", v.InfiniteB},
		{"num_mismatched_elements", v.Beyond}, {"mismatch_ratio", ratio}, {"comparison_mode", "blob"},
	}
}

func (d *TensorDiff) statisticMetrics(a, b *tritonparse.Statistics) object {
	o := object{}
	for _, s := range statistics(a, b) {
		o = append(o, member{s.name + "_a", jsonNumber(s.a)}, member{s.name + "_b", jsonNumber(s.b)}, member{s.name + "_diff", jsonNumber(math.Abs(s.a - s.b))})
	}
	return append(o, member{"atol", d.tolerance.Absolute}, member{"comparison_mode", "stats"})
}

// jsonNumber is a number, or the text that traces have for what JSON has no number for.
func jsonNumber(v float64) any {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return map[bool]string{true: "inf", false: "-inf"}[v > 0]
	}
	return json.Number(strconv.FormatFloat(v, 'g', -1, 64))
}
