package runinfo

// Metrics has a process leave what it counts in folders, from each of which another process serves or sends it.
type Metrics struct {
	Folders []string `json:"folders"` // which exist
	Scopes  int      `json:"scopes"`  // that have counters of their own, at most
}
