package profile

import "strings"

// launchMetadata is the frame under which the work that launch metadata itself causes is collected: reductions that
// count tokens, copies of their results. The profiled program did not ask for it, and no view shows it.
const launchMetadata = "__proton_launch_metadata"

// IsLaunchMetadata knows that frame, which a kernel's name may follow after a colon.
func IsLaunchMetadata(frame string) bool {
	rest, ok := strings.CutPrefix(frame, launchMetadata)
	return ok && (rest == "" || rest[0] == ':')
}
