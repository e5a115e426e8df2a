package doctor

import "github.com/goproton/goproton/gpu/vendors"

// nvidia is what is examined for NVIDIA's GPUs.
var nvidia = checks{
	Vendor:    vendors.NVIDIA,
	container: "--gpus all",
	packages:  []string{"nvidia-cuda-cupti", "nvidia-cuda-cupti-cu13", "nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti-cu11"},
	driver:    []func(*Report, Machine){(*Report).examineDriver, (*Report).examineGPUs},
	collector: []func(*Report, Machine){(*Report).examineCUPTI, (*Report).examineConflicts, (*Report).examineSampling, (*Report).examineCounters},
	text:      (*Report).writeLibraries,
}
