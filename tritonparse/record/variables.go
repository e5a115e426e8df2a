package record

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/settings"
)

// FromVariables are the arguments of goproton.trace.init, by their names, that TritonParse's variables give, and a sentence for each
// variable that has no effect.
func FromVariables(env settings.Env) (given map[string]any, remarks []string) {
	given, remarks = map[string]any{}, []string{}
	launches := settings.TraceLaunch
	switch set := launches.Get(env) != ""; {
	case set && launches.On(env):
		given["launches"] = "all"
	case settings.TraceProfiled.On(env):
		given["launches"] = "profiled"
	case set:
		given["launches"] = "none"
	}
	for name, s := range map[string]*settings.Setting{
		"sass": settings.TraceSASS, "full_source": settings.TraceFullSource, "statistics": settings.TraceStatistics, "tensors": settings.TraceTensors,
	} {
		if s.Get(env) != "" {
			given[name] = s.On(env)
		}
	}
	if names := settings.TraceKernels.Get(env); names != "" {
		given["kernels"] = names
	}
	remark := func(s *settings.Setting, why string) {
		if s.Get(env) != "" {
			remarks = append(remarks, fmt.Sprintf("%s=%s has no effect: %s", s.Name, s.Get(env), why))
		}
	}
	switch format := strings.ToLower(settings.TraceCompression.Get(env)); format {
	case "":
	case "none", "gzip", "zstd":
		given["compression"] = format
	default:
		remark(settings.TraceCompression, "give zstd, gzip or none")
	}
	for _, n := range []struct {
		name string
		*settings.Setting
	}{
		{"tensor_limit", settings.TraceTensorLimit}, {"tensor_quota", settings.TraceTensorQuota},
		{"tensor_skip", settings.TraceTensorSkip}, {"tensor_max", settings.TraceTensorMax},
	} {
		if text := n.Get(env); text != "" {
			if value, err := strconv.ParseInt(text, 10, 64); err == nil && value >= 0 {
				given[n.name] = value
			} else {
				remark(n.Setting, "give a number, "+n.Type)
			}
		}
	}
	for _, name := range strings.Split(settings.TraceArtifacts.Get(env), ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "all", "sass":
			given["sass"] = true
		case "", "none":
		default:
			remark(settings.TraceArtifacts, "of what is made from binaries, sass alone is recorded")
		}
	}
	remark(settings.TraceSourceSize, "sources are recorded whatever their size")
	remark(settings.TraceManifold, "traces are not uploaded")
	remark(settings.TraceDebug, "there are no messages for debugging")
	return given, remarks
}
