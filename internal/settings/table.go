package settings

// The variables that Go reads.
var (
	CUPTIPath       = &Setting{"PROTON_CUPTI_PATH", "file or folder", "", "C Go", "The libcupti to use; nothing else is tried."}
	TritonCUPTI     = &Setting{"TRITON_CUPTI_LIB_PATH", "file or folder", "", "Go", "The same as Triton reads it. It is tried after what the program has loaded by itself."}
	TritonROCtracer = &Setting{"TRITON_ROCTRACER_LIB_PATH", "folder", "", "Go", "The folder of libroctracer64, as Triton reads it. What the program has loaded comes first."}
	TritonROCSDK    = &Setting{"TRITON_ROCPROFILER_SDK_LIB_PATH", "folder", "", "Go", "The folder of librocprofiler-sdk, as Triton reads it. What the program has loaded comes first."}
	Home            = &Setting{"PROTON_HOME", "folder", "the one that `proton` is in", "Go", "The folder with what `make build` made."}
	Library         = &Setting{"PROTON_LIB", "file", "next to `proton`", "C Go Python", "`libproton.so` alone, for `proton` and for the Python package."}
	Python          = &Setting{"PYTHON", "program", "the one in which GoProton is installed, else `python3` or `python` in `PATH`", "Go", "The interpreter of `proton run script.py`, `proton reproduce` and `proton doctor`."}
	Graph           = &Setting{"PROTON_GRAPH", "`node` or `graph`", "node", "Go", "`graph` times whole CUDA graphs in programs that call `start` themselves, as `--graph graph` does."}
	Shared          = &Setting{"PROTON_CUPTI_SHARED", "switch", "0", "Go", "`1` allows other subscribers of CUPTI next to GoProton, from CUPTI 13.3 and a driver of CUDA 13.3 on. Where another one allows it, GoProton joins without."}
	GraphLate       = &Setting{"PROTON_GRAPH_LATE", "switch", "0", "Go", "`1` does so even if the GPU is in use at `start`. CUPTI then crashes a program that launches an older graph."}
	Stats           = &Setting{"PROTON_STATS", "switch", "1", "Go", "`0` leaves the distribution of kernel times out of trees, as `--no-stats` does."}
	ExitPatience    = &Setting{"PROTON_EXIT_PATIENCE", "seconds", "30", "Go", "How long the end of a program waits for a GPU that finishes nothing: more for kernels that run longer, or `inf`."}
	InsideMemory    = &Setting{"PROTON_INSIDE_MEMORY", "MiB", "1024", "Go", "How much GPU memory the records of scopes inside kernels may take, and a quarter as much of the host's. Launches beyond are counted as lost."}
	Disassembler    = &Setting{"PROTON_NVDISASM", "program", "searched", "Go", "The nvdisasm that `proton viewer --sass` asks for the text of instructions; empty means none. `PATH` and `CUDA_HOME` are searched too."}
	Objdump         = &Setting{"PROTON_OBJDUMP", "program", "searched", "Go", "The llvm-objdump that is asked for the instructions of AMD's GPUs in the same way. `PATH`, `ROCM_PATH` and `/opt/rocm` are searched too."}
	TritonDisasm    = &Setting{"TRITON_NVDISASM_PATH", "program", "", "Go", "The same as Triton reads it."}
	TritonCache     = &Setting{"TRITON_CACHE_DIR", "folder", "~/.triton/cache", "Go", "Triton's cache, where `--sass` looks for modules that are not next to the profile."}
	SourcesBelow    = &Setting{"PROTON_SOURCES_BELOW", "folder", "", "Go", "Only source files below this folder are shown, whatever paths a profile has. `proton mcp` sets it."}
	Analysis        = &Setting{"TRITONPARSE_ANALYSIS", "names", "all", "Go", "Analyses that `proton trace parse` makes, if `--analysis` does not say."}
	FileCheck       = &Setting{"FILECHECK_PATH", "program", "searched", "Go", "LLVM's FileCheck, for `proton trace parse`; Triton's own, and `PATH`, are searched too."}
	Record          = &Setting{"PROTON_RECORD", "file", "", "Go", "The file to record everything into that the GPU vendor's library reports, for `proton run --backend replay` and bug reports."}
	Disable         = &Setting{"TRITON_PROTON_DISABLE", "switch", "0", "Go Python", "`1` has `start` do nothing."}
	NVTX            = &Setting{"TRITON_ENABLE_NVTX", "switch", "1", "Go", "NVTX and ROCTX ranges are scopes; `0` leaves them alone."}
	RunConfig       = &Setting{"PROTON_RUN_CONFIG", "JSON", "", "Go Python", "Set by `proton run` for the processes of its target."}
	InterpretConfig = &Setting{"PROTON_INTERPRET_CONFIG", "JSON", "", "Go Python", "Set by `proton interpret` for the processes of its target."}
	RecordOwner     = &Setting{"PROTON_RECORD_OWNER", "process id", "", "Go", "Set by GoProton for child processes, which record into files of their own."}
	PushToken       = &Setting{"PROTON_PUSH_TOKEN", "text", "", "Go", "The token for the server of `--push`. A file is better: other programs of the environment do not see it."}
	PushTokenFile   = &Setting{"PROTON_PUSH_TOKEN_FILE", "file", "", "Go", "The file with that token, read again for every request."}
	PushUser        = &Setting{"PROTON_PUSH_USER", "text", "", "Go", "The user of basic authentication, with the token as password. Without it the token is a bearer token."}
	PushTenant      = &Setting{"PROTON_PUSH_TENANT", "text", "", "Go", "The tenant, sent as `X-Scope-OrgID`."}
	PushHeadersFile = &Setting{"PROTON_PUSH_HEADERS_FILE", "file", "", "Go", "A file with more headers, `Name: value` on each line."}
	PushCA          = &Setting{"PROTON_PUSH_CA", "file", "the machine's", "Go", "Certificates, in PEM form, of the authorities that the server's certificate is checked with."}
	PushEvery       = &Setting{"PROTON_PUSH_EVERY", "seconds", "60", "Go Python", "The length of windows that are pushed, where neither `--push URL:every` nor `goproton.Push` says it."}
	PushWait        = &Setting{"PROTON_PUSH_WAIT", "seconds", "5", "Go Python", "How long the end waits for the server, where neither `--push URL:wait` nor `goproton.Push` says it."}
	PushService     = &Setting{"PROTON_PUSH_SERVICE", "text", "the name of the target", "Go Python", "The label `service_name`, where neither `--push URL:service` nor `goproton.Push` gives one."}
	PushLabels      = &Setting{"PROTON_PUSH_LABELS", "text", "", "Go Python", "More labels of windows, `NAME=VALUE` separated by commas. Those of `--push URL:label` and `goproton.Push` replace labels of the same name."}
	PushMetrics     = &Setting{"PROTON_PUSH_METRICS", "switch", "0", "Go Python", "`1` has counters sent to the collector too, where neither `--push URL:counters` nor `goproton.Push` says it."}
	PushSpool       = &Setting{"PROTON_PUSH_SPOOL", "folder", "`~/.local/state/goproton/spool`", "Go", "Where windows wait until they are sent."}

	// TritonParse's, for recording.
	TraceLaunch      = &Setting{"TRITON_TRACE_LAUNCH", "switch", "1", "Go", "`0` leaves launches out of traces: `launches=False`, `--trace DIR:launches=none`. This variable and the next ones are TritonParse's; for traces of `goproton.trace.init` and `proton run --trace` they stand for arguments and flags that are not given."}
	TraceProfiled    = &Setting{"TRITON_TRACE_LAUNCH_WITHIN_PROFILING", "switch", "0", "Go", "`1`, without `TRITON_TRACE_LAUNCH=1`: `launches=\"profiled\"`, `--trace DIR:launches=profiled`."}
	TraceCompression = &Setting{"TRITON_TRACE_COMPRESSION", "`zstd`, `gzip` or `none`", "zstd", "Go", "`compression`, `--trace DIR:compression`. There is no `clp`."}
	TraceKernels     = &Setting{"TRITONPARSE_KERNEL_ALLOWLIST", "patterns", "", "Go", "`kernels`, `--trace DIR:kernels`."}
	TraceSASS        = &Setting{"TRITONPARSE_DUMP_SASS", "switch", "0", "Go", "`sass`, `--trace DIR:sass`."}
	TraceArtifacts   = &Setting{"TRITONPARSE_DERIVED_ARTIFACTS", "`all`, `sass` or `none`", "none", "Go", "The same."}
	TraceFullSource  = &Setting{"TRITON_FULL_PYTHON_SOURCE", "switch", "0", "Go", "`full_source`, `--trace DIR:source`."}
	TraceStatistics  = &Setting{"TRITONPARSE_MORE_TENSOR_INFORMATION", "switch", "0", "Go", "`statistics`, `--trace DIR:statistics`."}
	TraceTensors     = &Setting{"TRITONPARSE_SAVE_TENSOR_BLOBS", "switch", "0", "Go", "`tensors`, `--trace DIR:tensors`."}
	TraceTensorLimit = &Setting{"TRITONPARSE_TENSOR_SIZE_LIMIT", "bytes", "10 GiB", "Go", "`tensor_limit`, `--trace DIR:tensor-limit`."}
	TraceTensorQuota = &Setting{"TRITONPARSE_TENSOR_STORAGE_QUOTA", "bytes", "100 GiB", "Go", "`tensor_quota`, `--trace DIR:tensor-quota`."}
	TraceTensorSkip  = &Setting{"TRITONPARSE_TENSOR_SAVE_SKIP_RUNS", "launches", "", "Go", "`tensor_skip`, `--trace DIR:tensor-skip`."}
	TraceTensorMax   = &Setting{"TRITONPARSE_TENSOR_SAVE_MAX_RUNS", "launches", "", "Go", "`tensor_max`, `--trace DIR:tensor-max`."}
	TraceSourceSize  = &Setting{"TRITON_MAX_SOURCE_SIZE", "bytes", "", "Go", "No effect, which a message says: sources are recorded whatever their size."}
	TraceManifold    = &Setting{"TRITONPARSE_TRACE_MANIFOLD", "switch", "0", "Go", "No effect, which a message says: traces are not uploaded."}
	TraceDebug       = &Setting{"TRITONPARSE_DEBUG", "switch", "0", "Go", "No effect, which a message says: there are no messages for debugging."}

	Root = &Setting{"PROTON_ROOT", "folder", "/", "C Go", "For tests: a folder that stands for `/`."}
)

// All are the variables in the order of docs/environment.md.
var All = []*Setting{
	CUPTIPath, TritonCUPTI, TritonROCtracer, TritonROCSDK, Home, Library, Python, Graph, GraphLate, Shared, Stats, ExitPatience, InsideMemory,
	{"PROTON_TRACE", "folder", "", "Python", "The folder of TritonParse traces where `goproton.trace.init` is given none."},
	{"TRITON_TRACE", "folder", "", "Python", "The same, if `PROTON_TRACE` is not set."},
	TraceLaunch, TraceProfiled, TraceCompression, TraceKernels, TraceSASS, TraceArtifacts, TraceFullSource, TraceStatistics, TraceTensors,
	TraceTensorLimit, TraceTensorQuota, TraceTensorSkip, TraceTensorMax, TraceSourceSize, TraceManifold, TraceDebug,
	{"PROTON_PYTHON_WALKER", "`public`", "chosen by an examination", "C", "`public` reads Python's frames through its public API only: slower, and under the GIL."},
	Disassembler, Objdump, TritonDisasm, TritonCache, SourcesBelow, Analysis, FileCheck, Record,
	{"PROTON_RECORD_CUBINS", "switch", "small ones while sampling", "C", "`1` puts the kernels' machine code into that recording."},
	PushToken, PushTokenFile, PushUser, PushTenant, PushHeadersFile, PushCA, PushEvery, PushWait, PushService, PushLabels, PushMetrics, PushSpool,
	NVTX,
	Disable,
	{"TRITON_PROFILE_METRIC_BUFFER_SIZE", "bytes", "16777216", "C", "The room on each GPU context for values of tensor metrics in CUDA graphs, 32 bytes each, until they are read every few milliseconds. Triton reads it too."},
	{"NO_COLOR", "any text", "", "Go", "`proton viewer` and `proton diff` use no colour on a terminal."},
	{"PAGER", "program", "`less`", "Go", "What `proton viewer` and `proton diff` page with on a terminal; `cat` for nothing."},
	{"LESS", "text", "", "Go", "The options of that pager."},
	{"TRITONPARSE_REPRODUCE_VERBOSE", "switch", "0", "Python", "`1` has scripts of `proton reproduce` print their arguments."},
	{"TRITON_INTERPRET", "switch", "0", "Go Python", "Triton's own interpreter; `proton interpret` leaves it out of its target's environment, and says so."},
	RunConfig, InterpretConfig, RecordOwner, Root,
	{"PROTON_STUB_*", "", "", "C", "For tests: the fake driver, see [stub.h](../replay/fakecuda/stub.h)."},
}
