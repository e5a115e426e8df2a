package doctor

import (
	"fmt"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
)

// Library is one libcupti that was found.
type Library struct {
	Path   string `json:"path"`
	Origin string `json:"origin"`
	Major  int    `json:"cuda_major,omitempty"`
	API    int    `json:"api_version,omitempty"` // as cuptiGetVersion says it
	Chosen bool   `json:"chosen"`
	Reason string `json:"reason,omitempty"` // why chosen, or why it cannot be used
}

// examineCUPTI lists every libcupti, asks each for its version, and makes the choice that the runtime makes.
// The runtime may choose another one only where the process has loaded one of its own by then.
func (r *Report) examineCUPTI(m Machine) {
	candidates := vendors.Search{Env: m.Env, SitePackages: r.Python.SitePackages, Root: m.Root}.Candidates()
	answers := make([]probeAnswer, len(candidates))
	for i, c := range candidates {
		if c.Reason != "" || m.Probe == "" {
			continue
		}
		answer, err := m.probe(c.Path)
		switch {
		case err != nil:
			candidates[i].Reason = err.Error()
		case !answer.CUPTI.Loaded:
			candidates[i].Reason = answer.CUPTI.Error
		}
		answers[i] = answer
	}
	chosen, why, err := vendors.Choose(candidates, r.Driver.CUDAVersion)
	for i, c := range candidates {
		l := Library{Path: c.Path, Origin: c.Origin.String(), Major: c.Major, API: answers[i].CUPTI.Version, Reason: c.Reason}
		if err == nil && c.Path == chosen.Path {
			l.Chosen, l.Reason = true, why
			r.judgeSubscription(answers[i], c)
		}
		r.CUPTI = append(r.CUPTI, l)
	}
	if err != nil {
		remedy := vendors.Remedy(r.Driver.CUDAVersion / 1000)
		r.found("libcupti", Problem, strings.TrimSuffix(err.Error(), ": "+remedy), remedy)
	}
}

// judgeSubscription turns the status of a trial subscription with the chosen library into a finding.
func (r *Report) judgeSubscription(answer probeAnswer, c vendors.Candidate) {
	text := fmt.Sprintf("%s (%s)", c.Path, c.Origin)
	if answer.CUPTI.Version != 0 {
		text = fmt.Sprintf("%s (%s, API %d)", c.Path, c.Origin, answer.CUPTI.Version)
	}
	if !answer.Driver.Loaded || answer.Driver.Init != 0 || !answer.CUPTI.Loaded {
		r.found("libcupti", OK, text, "") // without a driver a subscription says nothing
		return
	}
	switch answer.CUPTI.Subscribe {
	case 0:
		r.found("libcupti", OK, text, "")
		r.found("subscribers", OK, severalText(answer), "")
	case 12, 39: // MAX_LIMIT_REACHED in old libraries, MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
		r.found("libcupti", Problem, fmt.Sprintf("%s: another profiler holds CUPTI (error %d)", text, answer.CUPTI.Subscribe), "run outside nsys, ncu, compute-sanitizer and debuggers; unset CUDA_INJECTION64_PATH")
	case 15:
		r.found("libcupti", Problem, text+": it does not initialise with this driver (error 15), which it does when it is newer than the driver", vendors.Remedy(r.Driver.CUDAVersion/1000))
	default:
		r.found("libcupti", Problem, fmt.Sprintf("%s: subscribing fails with error %d", text, answer.CUPTI.Subscribe), "try another one with PROTON_CUPTI_PATH")
	}
}

// severalText says whether another profiler may use CUPTI at the same time: yes, no, or that it could not be established.
func severalText(answer probeAnswer) string {
	const library, driver = 130300, 13030 // the first that do
	switch {
	case answer.CUPTI.Version == 0 || answer.Driver.CUDAVersion == 0:
		return "whether CUPTI serves several profilers at a time could not be established: it does not say its version"
	case answer.CUPTI.Version < library || answer.Driver.CUDAVersion < driver:
		return "CUPTI serves one profiler at a time; from 13.3 and a driver of CUDA 13.3 on it can serve several"
	case answer.CUPTI.Several < 0 || answer.CUPTI.Several > 2:
		return "whether CUPTI serves several profilers at a time could not be established: this libcupti does not say"
	case answer.CUPTI.Several == 0:
		return "CUPTI serves one profiler at a time: the first of this process wanted that"
	}
	return "CUPTI can serve several profilers at a time, if the first allows it; with PROTON_CUPTI_SHARED=1 GoProton does"
}

// writeLibraries lists every libcupti.
func (r *Report) writeLibraries(out *strings.Builder) {
	if len(r.CUPTI) > 0 {
		out.WriteString("\nlibcupti, in the order of the search:\n")
	}
	for _, l := range r.CUPTI {
		mark := " "
		if l.Chosen {
			mark = "*"
		}
		fmt.Fprintf(out, "%s %-21s %s", mark, l.Origin, l.Path)
		if l.API != 0 {
			fmt.Fprintf(out, " (API %d)", l.API)
		}
		if l.Reason != "" {
			fmt.Fprintf(out, ": %s", l.Reason)
		}
		out.WriteByte('\n')
	}
}
