package counters

import "github.com/goproton/goproton/profile"

const severalGPUs = "several"

// GPUs returns, for each node of what Take returns, the GPU that the node and those below it ran on: its number in the process. A
// windowNode has none if nothing says which, or if they differ.
func GPUs(root *profile.Node) map[*profile.Node]string {
	gpus := map[*profile.Node]string{}
	gpuOf(root, gpus)
	for n, gpu := range gpus {
		if gpu == severalGPUs {
			delete(gpus, n)
		}
	}
	return gpus
}

// gpuOf finds the GPU of a node and of those below it: "" if none says, severalGPUs if they differ.
func gpuOf(n *profile.Node, gpus map[*profile.Node]string) string {
	own := ""
	for _, c := range n.Children {
		switch gpu := gpuOf(c, gpus); {
		case own == "":
			own = gpu
		case gpu != "" && gpu != own:
			own = severalGPUs
		}
	}
	below := own
	if v, has := n.Metric(profile.DeviceIDMetric); has {
		if own = v.Str(); below != "" && below != own {
			below = severalGPUs
		} else {
			below = own
		}
	}
	gpus[n] = own
	return below
}
