package profile

// Names of metrics with a meaning of their own. The unit stands in the name, as upstream has it.
const (
	TimeMetric      = "time (ns)"       // that kernels, graphs, copies and fills took on the GPU
	CountMetric     = "count"           // of kernels, graphs, copies and fills
	BytesMetric     = "bytes"           // that a copy, a fill or, where the program says so, a kernel moved
	TimeErrorMetric = "time_error (ns)" // the standard error of the time, where that is an estimate
	CPUTimeMetric   = "cpu_time (ns)"
	SyncTimeMetric  = "sync_time (ns)" // that the host waited for the GPU
	SyncCountMetric = "sync_count"
	IdleMetric      = "idle (ns)" // that a GPU had nothing to do before work of the frame
	BusyMetric      = "busy (ns)" // that a GPU worked on the frame, and on nothing that began earlier
	IdleGapsMetric  = "idle_gaps"

	AllocatedMetric = "alloc_bytes" // that a program took from the allocator of its framework
	PeakMetric      = "peak_bytes"  // of these, what was allocated when most was

	DeviceIDMetric   = "device_id" // ordinal of the GPU, a property
	DeviceTypeMetric = "device_type"

	SamplesMetric        = "num_samples" // instruction samples
	StalledSamplesMetric = "num_stalled_samples"
	StalledMetricPrefix  = "stalled_" // before the reason

	LostRecordsMetric       = "lost_records"       // of a profile: records of launches for which the ring had no room
	DroppedActivitiesMetric = "dropped_activities" // records of kernels and copies that the vendor's library dropped
)
