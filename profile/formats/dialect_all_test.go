package formats_test

import "fmt"

// Dialect is how one program, or one version of it, writes timelines.
type Dialect struct {
	Name       string
	File       string // the end of its files' names
	Unit       int64  // ns; its times are multiples of this
	Ranks      int    // the most processes in a file
	SameDevice bool   // all ranks number their GPUs from 0
	NoWork     bool   // it knows no GPUs
	OneWork    bool   // a call launches one piece of work at most
	NoBytes    bool   // it does not say how much a copy copies
	NoCalls    bool   // it has no calls of the driver, and work is at the root
	OneThread  bool   // it knows no threads
	Apart      bool   // no two scopes of a thread begin or end at the same time
	Write      func(*Model) []byte
}

// All are all dialects.
var All = []*Dialect{
	{Name: "torch-1.8", File: ".json", Unit: 1000, Ranks: 1, Write: but(func(t *torch) {
		t.operator, t.python, t.runtime, t.driver, t.kernel, t.memcpy = "Operator", "Operator", "Runtime", "Runtime", "Kernel", "Memcpy"
		t.arrows, t.external, t.textIDs, t.base, t.spans = "async", "external id", true, false, false
	}).write},
	{Name: "torch-1.13", File: ".json", Unit: 1000, Ranks: 1, Write: but(func(t *torch) { t.base, t.arrows, t.external = false, "async_gpu", "External id" }).write},
	{Name: "torch-2.3", File: ".json", Unit: 1000, Ranks: 1, Write: but(func(t *torch) { t.base = false }).write},
	{Name: "torch-2.6", File: ".json", Unit: 1, Ranks: 1, Write: but(func(t *torch) { t.more = true }).write},
	{Name: "torch-2.15", File: ".json", Unit: 1, Ranks: 1, Write: kineto.write},
	{Name: "torch-2.15-names-first", File: ".json", Unit: 1, Ranks: 1, Write: but(func(t *torch) { t.namesFirst = true }).write},
	{Name: "torch-2.15-shuffled", File: ".json", Unit: 1, Ranks: 1, OneWork: true, Write: but(func(t *torch) { t.shuffle = true }).write},
	{Name: "torch-2.15-no-arrows", File: ".json", Unit: 1, Ranks: 1, Write: but(func(t *torch) { t.arrows = "" }).write},
	{Name: "torch-2.15-no-names", File: ".json", Unit: 1, Ranks: 1, Write: but(func(t *torch) { t.named = false }).write},
	{Name: "torch-2.15-metadata-first", File: ".json", Unit: 1, Ranks: 1, Write: but(func(t *torch) { t.metadata = true }).write},
	{Name: "torch-2.15-xpu", File: ".json", Unit: 1, Ranks: 1, Write: but(func(t *torch) {
		t.runtime, t.driver, t.launch, t.launchDriver = "xpu_runtime", "xpu_driver", "urEnqueueKernelLaunch", "zeCommandListAppendLaunchKernel"
	}).write},
	{Name: "torch-2.15-privateuse1", File: ".json", Unit: 1, Ranks: 1, Write: but(func(t *torch) { t.runtime, t.driver = "privateuse1_runtime", "privateuse1_driver" }).write},
	{Name: "torch-2.15-mtia", File: ".json", Unit: 1, Ranks: 1, Write: but(func(t *torch) { t.runtime, t.driver, t.arrows = "mtia_runtime", "mtia_runtime", "" }).write},
	{Name: "torch-2.15-combined", File: ".json", Unit: 1, Ranks: 3, Write: kineto.write},
	{Name: "torch-2.15-combined-no-arrows", File: ".json", Unit: 1, Ranks: 3, Write: but(func(t *torch) { t.arrows = "" }).write},
	{Name: "sglang", File: ".json", Unit: 1, Ranks: 3, SameDevice: true, Write: but(func(t *torch) {
		t.pid = func(rank, pid int) any { return fmt.Sprintf("[TP%02d] %d", rank, pid) }
	}).write},
	{Name: "sglang-no-names", File: ".json", Unit: 1, Ranks: 3, SameDevice: true, Write: but(func(t *torch) {
		t.pid, t.named = func(rank, pid int) any { return fmt.Sprintf("[TP%02d-DP01] %d", rank, pid) }, false
	}).write},
	{Name: "jax", File: ".json", Unit: 1, Ranks: 1, NoCalls: true, NoBytes: true, Write: jax},
	{Name: "nsys2json", File: ".json", Unit: 1, Ranks: 1, NoCalls: true, NoBytes: true, Write: nsys2json},
	{Name: "hand-written", File: ".json", Unit: 1, Ranks: 1, NoWork: true, OneThread: true, Write: handWritten},
	{Name: "begin-end", File: ".json", Unit: 1, Ranks: 1, Write: beginEnd{}.write},
	{Name: "begin-end-list", File: ".json", Unit: 1, Ranks: 1, Write: beginEnd{list: true, nameless: true}.write},
	{Name: "begin-end-texts", File: ".json", Unit: 1, Ranks: 1, Write: beginEnd{list: true, texts: true, sorted: true}.write},
	{Name: "perfetto", File: ".pftrace", Unit: 1, Ranks: 1, NoWork: true, Write: perfetto},
	{Name: "chromium", File: ".pftrace", Unit: 1000, Ranks: 1, NoWork: true, Write: chromium},
	{Name: "rocprofv3", File: ".pftrace", Unit: 1, Ranks: 1, Apart: true, OneWork: true, Write: rocprofv3},
}
