package roctracer

import "github.com/goproton/goproton/hotpath"

// attachWhenLoaded is true in a process that calls proton_hip_loaded of libproton once it has loaded HIP: Python's import hook
// does, and so does the library that `proton run` preloads. HIP itself has no hook for that.
func attachWhenLoaded() bool { return hotpath.LibraryWith("proton_hip_loaded") != "" }
