package runinfo

// Metrics has a process leave what it counts in a folder, from which another process serves it.
type Metrics struct {
	Folder string `json:"folder"` // which exists
	Scopes int    `json:"scopes"` // that have counters of their own, at most
}
