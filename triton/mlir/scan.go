package mlir

import "strings"

// scanner finds where operations begin and end. Within an operation it only looks at brackets, strings, comments and ends of lines.
type scanner struct {
	text string
	at   int
	line int32
	file *File
}

// special are the bytes at which a scanner looks twice.
var special = func() (t [256]bool) {
	for _, c := range "\"()[]{}<>-/\n" {
		t[c] = true
	}
	return t
}()

// wordByte are the bytes of names: of operations, values, blocks and aliases.
var wordByte = func() (t [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-" {
		t[c] = true
	}
	return t
}()

func (s *scanner) problem(line int32, text string) {
	if len(s.file.Problems) < mostProblems {
		s.file.Problems = append(s.file.Problems, Problem{line, text})
	} else {
		s.file.More++
	}
}

func (s *scanner) peek(at int) byte {
	if at < len(s.text) {
		return s.text[at]
	}
	return 0
}

// space skips spaces, ends of lines and comments.
func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '\n':
			s.line++
			s.at++
		case ' ', '\t', '\r':
			s.at++
		case '/':
			if s.peek(s.at+1) != '/' {
				return
			}
			s.restOfLine()
		default:
			return
		}
	}
}

// blank skips spaces within a line.
func (s *scanner) blank() { s.at = s.behindBlanks(s.at) }

func (s *scanner) behindBlanks(at int) int {
	for at < len(s.text) && (s.text[at] == ' ' || s.text[at] == '\t' || s.text[at] == '\r') {
		at++
	}
	return at
}

// restOfLine skips up to the end of the line.
func (s *scanner) restOfLine() {
	if end := strings.IndexByte(s.text[s.at:], '\n'); end >= 0 {
		s.at += end
	} else {
		s.at = len(s.text)
	}
}

// word skips a name of wordBytes.
func (s *scanner) word() string {
	from := s.at
	s.at = s.behindWord(from)
	return s.text[from:s.at]
}

func (s *scanner) behindWord(at int) int {
	for at < len(s.text) && wordByte[s.text[at]] {
		at++
	}
	return at
}

// quoted skips a string, at whose quotation mark the scanner stands. A string ends with its line at the latest.
func (s *scanner) quoted() {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			if s.peek(s.at+1) != '\n' {
				s.at++
			}
		case '"':
			s.at++
			return
		case '\n':
			s.problem(s.line, "a string without an end")
			return
		}
	}
	s.at = min(s.at, len(s.text))
}

// blocks reads the blocks of a region up to its brace, which it skips.
func (s *scanner) blocks(depth int) (blocks []Block) {
	for {
		b := s.block(depth)
		if b.Label != "" || len(b.Ops) > 0 {
			blocks = append(blocks, b)
		}
		switch s.peek(s.at) {
		case '}':
			s.at++
			return blocks
		case '^':
		default:
			s.problem(s.line, "a region without an end")
			return blocks
		}
	}
}

// block reads one block, up to the next label or a brace that ends the region.
func (s *scanner) block(depth int) (b Block) {
	s.space()
	b.Line = s.line
	if s.peek(s.at) == '^' && depth > 0 {
		b.Label, b.Arguments = s.label()
	}
	for {
		s.space()
		switch c := s.peek(s.at); {
		case s.at >= len(s.text) || c == '}' || c == '^':
			return b
		case c == '#' || c == '!':
			s.alias()
		case c == '%' || c == '"' || wordByte[c]:
			b.Ops = append(b.Ops, s.op(depth))
		case strings.HasPrefix(s.text[s.at:], "{-#"):
			s.resources()
		default:
			s.problem(s.line, "no operation begins like this")
			s.at++
			s.rest(0, true)
		}
	}
}

// label reads ^bb1(%a: i32 loc(#loc), …):.
func (s *scanner) label() (name, arguments string) {
	from := s.at
	s.at++
	s.word()
	name = s.text[from:s.at]
	s.blank()
	if s.peek(s.at) == '(' {
		from = s.at + 1
		s.brackets()
		arguments = strings.TrimSuffix(s.text[from:s.at], ")")
	}
	s.blank()
	if s.peek(s.at) == ':' {
		s.at++
	} else {
		s.problem(s.line, "a label without a colon")
		s.restOfLine()
	}
	return name, arguments
}

// brackets skips what stands between the bracket at which the scanner stands and its end.
func (s *scanner) brackets() {
	depth := 0
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case !special[c]:
			s.at++
		case c == '"':
			s.quoted()
		case c == '(' || c == '[' || c == '{' || c == '<':
			depth++
			s.at++
		case c == ')' || c == ']' || c == '}' || c == '>':
			s.at++
			if depth--; depth <= 0 {
				return
			}
		case c == '\n':
			if s.statement(s.at + 1) {
				s.problem(s.line, "a bracket without an end")
				return
			}
			s.line++
			s.at++
		case c == '-' && s.peek(s.at+1) == '>':
			s.at += 2
		default:
			s.at++
		}
	}
}

// alias reads #name = … or !name = ….
func (s *scanner) alias() {
	from, line := s.at, s.line
	s.at++
	s.word()
	name := s.text[from:s.at]
	s.blank()
	if s.peek(s.at) != '=' {
		s.problem(line, "an alias without a value")
		s.restOfLine()
		return
	}
	s.at++
	s.blank()
	a := Alias{Name: name, Line: line}
	if strings.HasPrefix(s.text[s.at:], "loc(") {
		s.at += len("loc(")
		a.Text = s.text[s.at-len("loc("):]
		length := len(a.Text)
		a.location = s.define(name)
		a.Text = a.Text[:length-len(s.text)+s.at]
	} else {
		from = s.at
		a.Text = strings.TrimRight(s.text[from:s.rest(0, false).at], " \t\r")
	}
	s.file.Aliases = append(s.file.Aliases, a)
}

// resources skips {-# … #-}.
func (s *scanner) resources() {
	end := strings.Index(s.text[s.at:], "#-}")
	if end < 0 {
		s.problem(s.line, "resources without an end")
		end = len(s.text) - s.at
	} else {
		end += len("#-}")
	}
	s.line += int32(strings.Count(s.text[s.at:s.at+end], "\n"))
	s.at += end
}

// op reads an operation with its regions.
func (s *scanner) op(depth int) (op Op) {
	op.Line = s.line
	defer func() { op.End = s.line }()
	if s.text[s.at] == '%' && !s.results(&op) {
		return op
	}
	if s.peek(s.at) == '"' {
		from := s.at + 1
		s.quoted()
		op.Name, op.Generic = strings.TrimSuffix(s.text[from:s.at], `"`), true
	} else {
		op.Name = s.word()
	}
	from, open := s.at, 0
	for {
		end := s.rest(open, true)
		text := strings.TrimSpace(s.text[from:end.at])
		switch {
		case len(op.Regions) == 0:
			op.Head = text
		default:
			op.Tail = text
		}
		if !end.region {
			op.Location = end.location
			return op
		}
		open = end.open
		r := Region{}
		if len(op.Regions) > 0 {
			r.Head, op.Tail = text, ""
		}
		s.at++
		if depth < maxDepth {
			r.Blocks = s.blocks(depth + 1)
		} else {
			s.problem(s.line, "regions are nested too deep")
			s.at--
			s.brackets()
		}
		op.Regions = append(op.Regions, r)
		from = s.at
	}
}

// results reads %a, %b:2 =.
func (s *scanner) results(op *Op) bool {
	from := s.at
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '=':
			op.Results = strings.TrimRight(s.text[from:s.at], " \t")
			s.at++
			s.blank()
			return true
		case wordByte[c] || c == '%' || c == ',' || c == ':' || c == ' ' || c == '\t':
			s.at++
		default:
			s.problem(op.Line, "values without an operation")
			op.Head = strings.TrimSpace(s.text[from:s.at])
			s.rest(0, true)
			return false
		}
	}
	s.problem(op.Line, "values without an operation")
	return false
}

// ending says where a part of an operation ends.
type ending struct {
	at       int // of the first byte that does not belong to the part
	open     int // brackets that are open there
	region   bool
	location LocationID
}

// rest skips an operation up to its next region, or up to its end: with its location, if it has one. open is the number of its
// brackets that are open.
func (s *scanner) rest(open int, regions bool) ending {
	from := s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		if !special[c] {
			s.at++
			continue
		}
		switch c {
		case '"':
			s.quoted()
			continue
		case '(':
			if at := s.at - len("loc"); open == 0 && at >= from && at > 0 && s.text[at:s.at] == "loc" && !wordByte[s.text[at-1]] {
				s.at++
				id := s.location(0)
				s.closeLocation()
				return ending{at: at, location: id}
			}
			open++
		case '[', '<':
			open++
		case ')', ']', '>':
			open = max(open-1, 0)
		case '{':
			if regions && s.regionHere() {
				return ending{at: s.at, open: open, region: true}
			}
			open++
		case '}':
			if open == 0 {
				return ending{at: s.at}
			}
			open--
		case '-':
			if s.peek(s.at+1) == '>' {
				s.at++
			}
		case '/':
			if s.peek(s.at+1) == '/' {
				at := s.at
				s.restOfLine()
				if open == 0 && !s.goesOn() {
					return ending{at: at}
				}
				continue
			}
		case '\n':
			if at := s.at; open == 0 {
				if !s.goesOn() {
					return ending{at: at}
				}
				continue
			}
			if s.statement(s.at + 1) {
				s.problem(s.line, "a bracket without an end")
				return ending{at: s.at}
			}
			s.line++
		}
		s.at++
	}
	return ending{at: s.at}
}

// goesOn says whether an operation goes on behind the end of its line, where the scanner stands, and goes there: with another region.
func (s *scanner) goesOn() bool {
	at, lines := s.at, int32(0)
	for at < len(s.text) && (s.text[at] == ' ' || s.text[at] == '\n' || s.text[at] == '\t' || s.text[at] == '\r') {
		if s.text[at] == '\n' {
			lines++
		}
		at++
	}
	end := s.behindWord(at)
	switch word := s.text[at:end]; word {
	case "default", "case", "else", "do":
	default:
		if !strings.HasPrefix(word, "partition") || s.peek(end) != '(' {
			return false
		}
	}
	s.at, s.line = at, s.line+lines
	return true
}

// statement says whether a line begins with an operation that has results, a label, or a name of a dialect.
func (s *scanner) statement(at int) bool {
	at = s.behindBlanks(at)
	from := at
	switch c := s.peek(at); {
	case c == '%':
		for at < len(s.text) && (wordByte[s.text[at]] || s.text[at] == '%' || s.text[at] == ',' || s.text[at] == ' ' || s.text[at] == ':') {
			at++
		}
		return s.peek(at) == '='
	case c == '^':
		return true
	case c >= 'a' && c <= 'z':
		at = s.behindWord(at)
		word := s.text[from:at]
		dot := strings.IndexByte(word, '.')
		return dot > 0 && dot+1 < len(word) && s.peek(at) == ' ' && !strings.HasPrefix(s.text[at:], " =")
	}
	return false
}

// regionHere says whether the brace at which the scanner stands opens a region, and not a dictionary: what follows it is the end of the line
// or an operation, and not a name with or without a value.
func (s *scanner) regionHere() bool {
	at := s.behindBlanks(s.at + 1)
	switch c := s.peek(at); {
	case c == '\n' || c == '%' || c == '^' || c == '/':
		return true
	case c == '}':
		return s.text[s.at-1] == '(' || s.opensAlone()
	case c == '"':
		inside := scanner{text: s.text, at: at, file: &File{}}
		inside.quoted()
		return inside.peek(inside.at) == '('
	case wordByte[c]:
		end := s.peek(s.behindBlanks(s.behindWord(at)))
		return end != '=' && end != ',' && end != '}'
	}
	return false
}

// opensAlone says whether the text before {} cannot have a dictionary any more: a second pair of braces is a region.
func (s *scanner) opensAlone() bool {
	before := strings.TrimRight(s.text[:s.at], " \t")
	return strings.HasSuffix(before, "else") || strings.HasSuffix(before, "do") || strings.HasSuffix(before, "module")
}
