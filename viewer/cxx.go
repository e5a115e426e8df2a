package viewer

import "strings"

// shortCxx shortens a demangled C++ function to the parts in which it differs from its siblings: it drops return type,
// parameters and namespaces, and keeps template arguments.
//
//	void at::native::elementwise_kernel<4, at::native::AddFunctor<float>, std::array<char*, 3ul> >(int, …)
//	elementwise_kernel<4, AddFunctor<float>, array<char*, 3>>
//
// Templates that are nested too deep for a readable name are written as "...".
func shortCxx(name string) string {
	short := ""
	for nesting := maxNesting; nesting > 0; nesting-- {
		c := cxx{in: name, nesting: nesting}
		if short = c.scope(0); len(short) <= longName {
			break
		}
	}
	if short == "" {
		return name
	}
	return short
}

// cxx reads a demangled name.
type cxx struct {
	in      string
	at      int
	nesting int // of templates that are written out
}

const (
	maxNesting = 4
	longName   = 110
)

// scope reads a name, or a list of template arguments, up to the bracket that closes it. What stands before the last
// "::" is dropped, and so is what stands before a blank: a return type at the top, nothing that matters in arguments.
func (c *cxx) scope(depth int) string {
	var done, part strings.Builder // finished arguments, the one that is being read
	flush := func() {
		done.WriteString(strings.TrimSpace(part.String()))
		part.Reset()
	}
	for c.at < len(c.in) {
		switch ch := c.in[c.at]; {
		case ch == '<' && !c.operator():
			c.at++
			inside := c.scope(depth + 1)
			if depth >= c.nesting {
				inside = "..."
			}
			part.WriteString("<" + inside + ">")
			continue
		case ch == '>' && !c.operator():
			if depth == 0 {
				return name(&done, &part)
			}
			c.at++
			return name(&done, &part)
		case ch == '(' || ch == '{':
			if c.brackets(&part, depth) {
				return name(&done, &part)
			}
			continue
		case ch == ',' && depth > 0:
			flush()
			done.WriteString(", ")
			c.at++
			for c.at < len(c.in) && c.in[c.at] == ' ' {
				c.at++
			}
			continue
		case strings.HasPrefix(c.in[c.at:], "::"):
			c.at += 2
			c.qualifier(&part)
			continue
		case ch == ' ' && depth == 0 && !strings.HasSuffix(part.String(), "operator"):
			part.Reset()
			c.at++
			continue
		default:
			part.WriteByte(ch)
			c.at++
		}
	}
	return name(&done, &part)
}

func name(done, part *strings.Builder) string {
	return done.String() + strings.TrimSpace(number64(part.String()))
}

// qualifier keeps or drops part, the text before a "::". It drops namespaces and classes. It keeps the function around a
// lambda or a call operator, because neither means anything without it, and drops lambdas between the two.
func (c *cxx) qualifier(part *strings.Builder) {
	text := part.String()
	rest := c.in[c.at:]
	switch {
	case strings.HasPrefix(rest, "operator()("):
		c.at += len("operator()")
		c.at += c.closing('(', ')')
		if strings.HasPrefix(c.in[c.at:], " const") {
			c.at += len(" const")
		}
		return
	case strings.HasPrefix(rest, "{"):
		part.Reset()
		if lambda := strings.LastIndex(text, "::{"); lambda >= 0 && strings.HasSuffix(text, "}") {
			text = text[:lambda]
		}
		part.WriteString(text + "::")
		return
	}
	part.Reset()
	if strings.HasPrefix(text, "const ") {
		part.WriteString("const ")
	}
}

// operator reports whether the angle bracket at the current position is part of operator<, operator>> and the like.
func (c *cxx) operator() bool {
	return strings.HasSuffix(strings.TrimRight(c.in[:c.at], "<>=-"), "operator")
}

// brackets reads parameters, a cast, an anonymous namespace, or a lambda. It reports whether the name ends here, at the parameters
// of the function itself.
func (c *cxx) brackets(part *strings.Builder, depth int) (ended bool) {
	rest := c.in[c.at:]
	switch {
	case strings.HasPrefix(rest, "(anonymous namespace)"):
		c.at += len("(anonymous namespace)")
		return false
	case strings.HasPrefix(rest, "()") && strings.HasSuffix(part.String(), "operator"):
		part.WriteString("()")
		c.at += 2
		return false
	case rest[0] == '{':
		end := c.closing('{', '}')
		text := rest[:end]
		if open := strings.IndexByte(text, '('); open >= 0 { // {lambda(float, int)#2} is {lambda#2}
			text = text[:open] + text[strings.LastIndexByte(text, ')')+1:]
		}
		part.WriteString(text)
		c.at += end
		return false
	}
	if depth == 0 && part.Len() > 0 {
		return true
	}
	c.at += c.closing('(', ')')
	return false
}

// closing is the length of a bracketed text, to the end if nothing closes it.
func (c *cxx) closing(open, end byte) int {
	depth := 0
	for i := c.at; i < len(c.in); i++ {
		switch c.in[i] {
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i + 1 - c.at
			}
		}
	}
	return len(c.in) - c.at
}

// number64 drops the type from a number: 4ul is 4.
func number64(text string) string {
	digits := strings.TrimRight(text, "ul")
	if digits != "" && strings.Trim(digits, "-0123456789") == "" {
		return digits
	}
	return text
}
