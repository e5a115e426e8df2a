// Package quirks names what tritonparse 0.6.0 does differently from us. A parse has one Set, chosen once from --compat, and each
// place where the two differ asks it for one name. Table says in words what each name stands for; the tables of differences in
// docs/tritonparse.md are made from it.
package quirks

// Set is the quirks of tritonparse 0.6.0 that an output has.
type Set uint32

// None is our own reading. TritonParse060 has every quirk, so that the output is tritonparse's, member by member.
const (
	None           Set = 0
	TritonParse060     = end - 1
)

// The quirks.
const (
	StaticWork Set = 1 << iota
	FirstLoop
	LinesAsInstructions
	FileCheckOnly
	TritonsTunerOnly
	CompiledOnly
	LaunchedOnly
	AllGroups
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
	Theirs, Ours string // what tritonparse 0.6.0 does, and what we do without --compat
}

// Section is the differences that stand in one table of the documentation.
type Section struct {
	Name        string
	Differences []Difference
}

// Table is every difference that --compat undoes.
var Table = []Section{
	{"analyses", []Difference{
		{StaticWork, "`roofline`: code in a loop", "It counts once: 1/16 of the operations of a matmul with K=512 in steps of 32.", "It counts as often as the loop runs, by the arguments of the launch and the id of the program. Branches count by their condition."},
		{StaticWork, "`tt.dot`", "The first one of a kernel counts.", "All of them count, batched and scaled ones too."},
		{StaticWork, "TMA descriptors, block pointers, scalars, atomics", "They have no bytes, or the bytes of the whole kernel are unknown.", "They are counted."},
		{StaticWork, "kernels without `tt.dot`", "They have no operations.", "Arithmetic on floating-point numbers counts: one operation for each element, two for `fma`."},
		{StaticWork, "what only the run knows", "–", "Such a loop counts once, of two branches the larger one counts, and a note names the line. Masked elements count."},
		{StaticWork, "programs that differ, as those of a triangle", "All count as the same.", "Up to 512 are counted one by one. Of more, 512 are, and a note says so."},
		{StaticWork, "bytes by the arguments", "Tensors that are arguments count.", "Those of descriptors and of triton_kernels count too. Repeated elements (stride 0) count once."},
		{FirstLoop, "`loop_schedules`", "The first loop of TTIR is compared with the first of TTGIR, for four operations.", "Each innermost loop is followed to where its operations went; TMA, tensor memory and buffer loads are included."},
		{LinesAsInstructions, "AMD's counts", "Each line in which the name of an instruction stands counts: 26 for a kernel called `global_load_kernel`.", "Instructions count: 9."},
		{FileCheckOnly, "`procedure_checks`", "One process of FileCheck runs for each of three of AMD's schedules and each kernel, NVIDIA's too.", "The check runs in our process, for AMD's kernels, or for all with `--procedure-checks FILE`. FileCheck runs for the directives that only it knows (variables, `DAG`, `LABEL`)."},
		{TritonsTunerOnly, "torch.compile's tuner", "Its launches are ordinary launches.", "They are a session."},
		{CompiledOnly, "configurations that another process compiled", "They are missing from the session.", "They are part of the session that timed them."},
		{LaunchedOnly, "an `autotune` record without launches", "It is dropped.", "It has an `autotune_analysis`."},
		{AllGroups, "the analysis of an autotuned call site with more than 4,096 distinct launches", "It covers all of them.", "It covers the last 4,096, and one line on stderr says so."},
	}},
	{"output", []Difference{
		{AskedRank, "`rank_suffix` in `log_file_list.json`", "It is where files would be of the rank that was asked for.", "It is where the files are."},
		{NoneInNames, "a `frame_id` or `attempt` that is null", "The file name says `None`.", "The file name says what it says without the number."},
		{InferredNulls, "what an inferred compilation does not know", "It is null, which the schema forbids.", "It is left out."},
		{SameWhereMissing, "`launch_diff` of a member that only some launches have", "It is the same in all launches.", "It differs."},
		{OneLevel, "`launch_diff` of members that are objects", "Arguments are compared one level deep, and other objects are split into members.", "They are compared at every depth, and each object is one difference, as the schema demands."},
		{AllValues, "`launch_diff` of more values than 4 MB hold, such as a seed's in 20,000 launches", "It lists them all.", "It says how many there are."},
		{CountedByPart, "`launch_diff` of an argument with `pid`, `stream` or the like in its name", "Its values are only counted, as those of handles are.", "Its values are listed."},
	}},
	{"maps", []Difference{
		{MapAssembly, "a helper such as `tl.cdiv` in PTX and AMDGCN", "It is on its own line of `standard.py`, shown as if that were the kernel's.", "It is credited to the line of the kernel that calls it, by `inlined_at` or the `@[ … ]` of the comments."},
		{MapByLine, "the same helper, called twice", "The lines of both calls are joined.", "Each call has its own lines."},
		{MapAssembly, "a helper in a helper, called twice", "Both calls are taken for the last one.", "Each call is its own."},
		{MapAnyFile, "the map by Python line", "It goes by number, whatever the file.", "It has lines of the kernel's file only."},
		{MapMLIR | MapAssembly, "definitions of locations, labels, braces, declarations, comments of listings", "They have entries.", "They are not code and have none."},
		{MapMLIR, "loops, functions, modules", "They are where they close, or nowhere.", "They are where they open."},
		{MapMLIR, "`loc(#loc)`, ranges, fused places, names around places and call sites, call sites in call sites, unknown callees", "They have no entry.", "They are resolved."},
		{MapMLIR, "a path with a colon", "It ends the run.", "It is a path."},
		{MapAssembly, "the second function of an assembly", "It is not mapped.", "It is mapped."},
		{MapAssembly, "a `.loc` without a comment", "It has the place before it.", "It has its own place."},
		{MapSASS, "comments in a listing of SASS", "Each comment with a place has an entry.", "Instructions have entries, with the place of the comments before them."},
		{MapAllLines, "a line that was unrolled to thousands in every stage", "Each line names all of the others: 9 GB of 10,000.", "Each names all others of a place up to 512, beyond that those near it, 64 or more. The map by Python line has all: 72 MB."},
		{MapAssembly | MapSASS, "inline assembly by Triton 3.9, as of a `tl.load` without a mask", "It is counted on line by line: the load itself, and what follows, is some lines below the `tl.load`.", "It is on the line that asked for it, in PTX and, where the listing names lines of PTX, in SASS."},
		{MapLLVM, "line 0, LLVM's mark for no line", "It is an entry in LLVM IR.", "It has no entry."},
		{MapLLVM, "`distinct` call sites and `#dbg_value` in LLVM IR", "They have the wrong caller, or no entry.", "They are resolved."},
	}},
}
