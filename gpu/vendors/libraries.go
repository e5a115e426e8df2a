package vendors

import "regexp"

// libraries are what the names of kernels begin with, or contain, that come with a vendor's libraries or with PyTorch.
var libraries = regexp.MustCompile(`^(_ZN?K?|void )*(\d*at\d*(::)?\d*(6native|cuda|native)|at_cuda_detail|\d*cub|\d*cudnn|thrust)|^_ZN\d+(at|cub|cutlass|cudnn|cublas)|` +
	`^(void )?at::|^nccl|nvjet|xmma|cublas|cudnn|cutlass|gemvx|splitKreduce|Cijk_|elementwise_kernel|reduce_kernel|layer_norm_kernel|flash_(fwd|bwd)`)

// IsLibrary says whether a kernel is of a library, so that the author of the program cannot change its lines.
func IsLibrary(kernel string) bool { return libraries.MatchString(kernel) }
