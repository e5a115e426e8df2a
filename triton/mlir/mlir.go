// Package mlir reads the text of MLIR, of any dialect and version, in its pretty and its generic form: operations with their regions,
// blocks and locations. What an operation says behind its name stays text, so operations of unknown dialects are read like
// others; Lexer takes such text apart. Reading never fails: what is not MLIR is left out, and Problems says where.
//
// The tree needs memory in proportion to the text, of which it keeps parts. Package ttir knows the operations of Triton.
package mlir

// File is the text of one file: as a rule one module.
type File struct {
	Ops     []Op    // outside of all others
	Aliases []Alias // names of attributes and types, in the order of the text

	Problems []Problem // the first mostProblems
	More     int       // further problems

	locations []Location
	named     map[string]LocationID
	frames    []resolved // by LocationID
	spent     int        // frames in all of them
}

// Op is an operation. The parts of `%a, %b:2 = "tt.reduce"(%x) <{axis = 0 : i32}> ({ … }) : (f32) -> f32 loc(#loc3)` are its results,
// its name, its head up to the first region, its regions, and its tail behind the last one, up to the location.
type Op struct {
	Name     string // without quotation marks
	Results  string // "" for none
	Head     string
	Tail     string
	Regions  []Region
	Location LocationID
	Line     int32 // of its first character, from 1
	End      int32 // the line of its last character
	Generic  bool  // the name is in quotation marks
}

// Region is what stands in the braces of an operation.
type Region struct {
	Head   string // between the region before and this one's brace: else, do
	Blocks []Block
}

// Block is a list of operations with a label, which the first block of a region may lack.
type Block struct {
	Label     string // ^bb1
	Arguments string // %a: i32 loc(#loc), …
	Ops       []Op
	Line      int32 // of the label
}

// Alias is a name that stands for the text of an attribute or a type: #blocked or !layout.
type Alias struct {
	Name, Text string
	Line       int32
	location   LocationID
}

// Location is the location that the name of an alias stands for; none if the alias is of another kind.
func (a *Alias) Location() LocationID { return a.location }

// Problem is text that was left out.
type Problem struct {
	Line int32
	Text string
}

// mostProblems are kept of one text.
const mostProblems = 20

// maxDepth bounds how deep regions may be nested. Triton's own have a depth of about ten.
const maxDepth = 256

// Walk calls visit for all operations, each before those in its regions.
func (f *File) Walk(visit func(*Op)) { walk(f.Ops, visit) }

func walk(ops []Op, visit func(*Op)) {
	for i := range ops {
		op := &ops[i]
		visit(op)
		for r := range op.Regions {
			for b := range op.Regions[r].Blocks {
				walk(op.Regions[r].Blocks[b].Ops, visit)
			}
		}
	}
}

// Parse reads a text.
func Parse(text string) *File {
	f := &File{named: map[string]LocationID{}, locations: make([]Location, 1, len(text)/128+1)}
	s := scanner{text: text, line: 1, file: f}
	for s.at < len(text) {
		b := s.block(0)
		f.Ops = append(f.Ops, b.Ops...)
		if s.at < len(text) { // a brace or a label that belongs to no operation
			s.problem(s.line, "nothing is open that this ends")
			s.at++
		}
	}
	return f
}
