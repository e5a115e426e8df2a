package vendor

// AMD's backends are package roctracer: the first on librocprofiler-sdk, the second on libroctracer64.
var AMD = &Vendor{
	Name: "AMD", API: "HIP", Backends: []string{"rocprofiler", "roctracer"}, Class: "RoctracerProfiler", DeviceType: "HIP",
	Driver: []string{"dev/kfd"},
	Target: "hip",
}
