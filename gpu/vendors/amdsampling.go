package vendors

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu/record"
)

// AMDSampling has the options of rocprofiler-sdk's sampling. Zero values leave the choice to the collector.
type AMDSampling struct {
	Method   AMDMethod
	Interval uint64            // between two samples, in the unit of the method; the collector keeps it within the limits of the GPU
	Kernels  func(string) bool // whether to keep samples of a kernel, by its linker name; nil: all
}

// AMDMethod is how the GPU takes samples.
type AMDMethod string

// The methods.
const (
	AnyMethod  AMDMethod = ""           // stochastic where the GPU has it, else host trap
	Stochastic AMDMethod = "stochastic" // the hardware samples every so many cycles, and says why a warp waits
	HostTrap   AMDMethod = "host_trap"  // the driver interrupts the warps at regular times, which says where they are and not why
)

// AMDReasons are the names of the reasons by their numbers in a stochastic sample. Number 0 is that of an issued instruction here.
var AMDReasons = []string{
	"selected", "no_instructions", "amd_alu_dependency", "amd_waitcnt", "amd_internal_instruction", "barrier", "not_selected",
	"amd_arbiter_win_ex_stall", "amd_other_wait", "sleeping",
}

// parseAMDSampling reads the options of the mode "pcsampling": "method=stochastic:interval=65536:kernels=matmul.*". Samples know
// their launch and kernels run as without sampling, so the collection is always continuous.
func parseAMDSampling(text string) (record.SamplingRequest, error) {
	request, o := record.SamplingRequest{OfLaunches: true}, AMDSampling{}
	if err := parseSampling(text, &request, &o.Kernels, o.set); err != nil {
		return record.SamplingRequest{}, err
	}
	request.Options = o
	return request, nil
}

func (o *AMDSampling) set(key, value string) (err error) {
	switch key {
	case "interval":
		if o.Interval, err = strconv.ParseUint(value, 10, 64); err != nil || o.Interval == 0 {
			return fmt.Errorf("interval=%s: want a positive number, of cycles for method=%s and of the driver's unit of time for method=%s", value, Stochastic, HostTrap)
		}
	case "method":
		o.Method = AMDMethod(strings.ToLower(value))
		if o.Method != Stochastic && o.Method != HostTrap {
			return fmt.Errorf("unsupported method: %s; %s and %s are known", value, Stochastic, HostTrap)
		}
	case "collection":
		if !strings.EqualFold(value, "continuous") {
			return fmt.Errorf("unsupported collection: %s; on AMD GPUs it is continuous, and samples know their launch", value)
		}
	default:
		return fmt.Errorf("unsupported option key: %s; interval, method, images, sources and kernels are known", key)
	}
	return nil
}
