// Package quirks names what tritonparse (0.6.1.dev20261021) does differently from us. A parse has one Set, chosen once from --compat, and each
// place where the two differ asks it for one name. Table says in words what each name stands for; the tables of differences in
// docs/tritonparse.md are made from it.
package quirks

// Set is the quirks of tritonparse that an output has.
type Set uint32

// None is our own reading. TritonParse has every quirk, so that the output is tritonparse's, member by member.
const (
	None        Set = 0
	TritonParse     = end - 1
)

const (
	StaticWork Set = 1 << iota
	FirstLoop
	LinesAsInstructions
	FileCheckOnly
	TritonsTunerOnly
	CompiledOnly
	LaunchedOnly
	AllGroups
	KeysByArguments
	AskedRank
	NoneInNames
	InferredNulls
	SameWhereMissing
	OneLevel
	AllValues
	CountedByPart
	MapMLIR
	MapLLVM
	MapAssembly
	MapSASS
	MapByLine
	MapAnyFile
	MapAllLines
	end
)

// Has says whether the set has a quirk.
func (s Set) Has(quirk Set) bool { return s&quirk != 0 }

// Difference is one thing that a quirk changes, in words. A quirk may change several.
type Difference struct {
	Quirk        Set
	Subject      string
	Theirs, Ours string // what tritonparse does, and what we do without --compat
}

// Section is the differences that stand in one table of the documentation.
type Section struct {
	Name        string
	Differences []Difference
}

// Table is every difference that --compat undoes.
var Table = []Section{
	{"analyses", []Difference{
		{StaticWork, "`roofline`: code in a loop", "It counts once: 1/16 of the operations of a matmul with K=512 in steps of 32.", "It counts as often as the loop runs, given the launch's arguments and the program id. Branches count by their condition."},
		{StaticWork, "`tt.dot`", "The first one of a kernel counts.", "All of them count, batched and scaled ones too."},
		{StaticWork, "TMA descriptors, block pointers, scalars, atomics", "They have no bytes, or the bytes of the whole kernel are unknown.", "They are counted."},
		{StaticWork, "kernels without `tt.dot`", "They have no operations.", "Arithmetic on floating-point numbers counts: one operation for each element, two for `fma`."},
		{StaticWork, "loops and branches that depend on data, and masks that leave out some of what the arguments have", "–", "The kernel is run on the CPU: 64 program instances of 4 kinds of launches of each kernel, 262,144 operations at most, with recorded contents of tensors or made-up ones. A note says so. In other launches such a loop counts once, the larger of two branches counts, masked elements count, and notes name the lines and why the launch was not run."},
		{StaticWork, "programs with different work, as for a triangular matrix", "All are counted as equal.", "Up to 512 are counted one by one. Of more, 512 are counted, and a note says so."},
		{StaticWork, "bytes counted from arguments", "Tensors passed as arguments count.", "Tensors of descriptors and of triton_kernels count too. Repeated elements (stride 0) count once."},
		{FirstLoop, "`loop_schedules`", "The first loop of TTIR is compared with the first of TTGIR, for four operations.", "Each innermost loop is followed to the place of its operations in TTGIR; TMA, tensor memory and buffer loads are included."},
		{LinesAsInstructions, "AMD's counts", "Each line that contains the name of an instruction counts: 26 for a kernel called `global_load_kernel`.", "Instructions count: 9."},
		{FileCheckOnly, "`procedure_checks`", "FileCheck runs as a process for each of AMD's three schedules and for each kernel, including NVIDIA's.", "AMD's kernels are checked, or all with `--procedure-checks FILE`. `CHECK` and `CHECK-NOT` with plain words, as in AMD's schedules, need no FileCheck; it runs for all other directives and for regular expressions."},
		{TritonsTunerOnly, "torch.compile's tuner", "Its launches are ordinary launches.", "Its launches form a session."},
		{CompiledOnly, "configurations that another process compiled", "They are missing from the session.", "They are part of the session that timed them."},
		{LaunchedOnly, "an `autotune` record without launches", "It is dropped.", "It has an `autotune_analysis`."},
		{AllGroups, "the analysis of an autotuned call site with more than 4,096 distinct launches", "It covers all of them.", "It covers the last 4,096, and one line on stderr says so."},
		{KeysByArguments, "a call site that is tuned for several keys", "Launches form a session if they have the same arguments, apart from those that depend on the compilation: an argument that is not part of the key, such as a seed, begins another session, and a constexpr of the key does not. Each session has the first result whose best configuration fits.", "A session is one key, with all launches that used its result. A result belongs to the session that has the values of its key."},
	}},
	{"output", []Difference{
		{AskedRank, "`rank_suffix` in `log_file_list.json`", "It is the place that the files of the requested rank would have.", "It is the place of the files."},
		{NoneInNames, "a `frame_id` or `attempt` that is null", "The file name contains `None`.", "The file name is that of a record without the number."},
		{InferredNulls, "unknown members of an inferred compilation", "They are null, which the schema forbids.", "They are left out."},
		{SameWhereMissing, "`launch_diff` of a member that only some launches have", "It counts as equal in all launches.", "It counts as different."},
		{OneLevel, "`launch_diff` of members that are objects", "Arguments are compared one level deep, and other objects are split into members.", "They are compared at every depth, and each object is one difference, as the schema requires."},
		{AllValues, "`launch_diff` of values that exceed 4 MB, such as a seed in 20,000 launches", "It lists all values.", "It counts the values."},
		{CountedByPart, "`launch_diff` of an argument whose name contains `pid`, `stream` or similar", "Its values are only counted, like those of handles.", "Its values are listed."},
	}},
	{"maps", []Difference{
		{MapAssembly, "a helper such as `tl.cdiv` in PTX and AMDGCN", "It has its own line of `standard.py`, shown as a line of the kernel's file.", "It has the line of the kernel that calls it, taken from `inlined_at` or from `@[ … ]` in the comments."},
		{MapByLine, "the same helper, called twice", "The lines of both calls are joined.", "Each call has its own lines."},
		{MapAssembly, "a helper in a helper, called twice", "Both calls are taken for the last one.", "Each call is separate."},
		{MapAnyFile, "the map by Python line", "It uses line numbers of any file.", "It has lines of the kernel's file only."},
		{MapMLIR | MapAssembly, "definitions of locations, labels, braces, declarations, comments of listings", "They have entries.", "They have none, since they are not code."},
		{MapMLIR, "loops, functions, modules", "Their place is where they close, or missing.", "Their place is where they open."},
		{MapMLIR, "`loc(#loc)`, ranges, fused locations, names around locations and call sites, call sites in call sites, unknown callees", "They have no entry.", "They are resolved."},
		{MapMLIR, "a path with a colon", "It ends the program.", "It is read as a path."},
		{MapAssembly, "the second function of an assembly", "It is not mapped.", "It is mapped."},
		{MapAssembly, "a `.loc` without a comment", "It has the location of the one before it.", "It has its own location."},
		{MapSASS, "comments in a listing of SASS", "Each comment with a location has an entry.", "Instructions have entries, with the location in the comments before them."},
		{MapAllLines, "a line that is unrolled to thousands of lines in every stage", "Each line names all others: 9 GB for 10,000 lines.", "Each line names all others of a location if there are at most 512, otherwise 64 or more that are near it. The map by Python line has all: 72 MB."},
		{MapAssembly | MapSASS, "inline assembly of Triton 3.9, as for a `tl.load` without a mask", "Each line has the next source line: the load itself, and what follows it, is some lines below the `tl.load`.", "All lines have the source line of the inline assembly, in PTX and, if the listing names lines of PTX, in SASS."},
		{MapLLVM, "line 0, which in LLVM means no line", "It has an entry in LLVM IR.", "It has no entry."},
		{MapLLVM, "`distinct` call sites and `#dbg_value` in LLVM IR", "They have the wrong caller, or no entry.", "They are resolved."},
	}},
}
