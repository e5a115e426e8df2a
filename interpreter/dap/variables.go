package dap

import (
	"fmt"
	"strings"

	"github.com/google/go-dap"

	"github.com/goproton/goproton/interpreter/debug"
)

// node is a value whose parts an editor may ask for.
type node struct {
	item       debug.Item
	expression string // that gives it; "" if none does
}

// scope is the variables of a frame.
type scope struct {
	frame *debug.Frame
	kind  scopeKind
}

type scopeKind uint8

const (
	arguments scopeKind = iota
	locals
	buffers
)

// newHandle gives a number to what an editor may ask for at this stop.
func (s *Server) newHandle(of any) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handles = append(s.handles, of)
	return firstHandle + len(s.handles) - 1
}

func (s *Server) handleOf(n int) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n -= firstHandle; n < 0 || n >= len(s.handles) {
		return nil
	}
	return s.handles[n]
}

// frame is a frame by its number, and the innermost one for others.
func (s *Server) frame(n int) *debug.Frame {
	if f, ok := s.handleOf(n).(*debug.Frame); ok {
		return f
	}
	return s.at().Stack[len(s.at().Stack)-1]
}

func (s *Server) level(f *debug.Frame) int {
	for i, x := range s.at().Stack {
		if x == f {
			return i
		}
	}
	return len(s.at().Stack) - 1
}

func (s *Server) scopes(m *dap.ScopesRequest) error {
	f, ok := s.handleOf(m.Arguments.FrameId).(*debug.Frame)
	body := dap.ScopesResponseBody{Scopes: []dap.Scope{}}
	if ok {
		body.Scopes = append(body.Scopes,
			dap.Scope{Name: "Arguments", PresentationHint: "arguments", VariablesReference: s.newHandle(scope{f, arguments})},
			dap.Scope{Name: "Locals", PresentationHint: "locals", VariablesReference: s.newHandle(scope{f, locals})},
			dap.Scope{Name: "Buffers", VariablesReference: s.newHandle(scope{f, buffers}), Expensive: true})
	}
	s.send(&dap.ScopesResponse{Response: response(&m.Request), Body: body})
	return nil
}

// maxChildren bounds the parts that are sent at once.
const maxChildren = 10000

func (s *Server) variables(m *dap.VariablesRequest) error {
	list := []dap.Variable{}
	switch of := s.handleOf(m.Arguments.VariablesReference).(type) {
	case scope:
		if m.Arguments.Filter != "indexed" {
			list = s.ofScope(of)
		}
	case *node:
		if m.Arguments.Filter != "named" {
			from, to := max(m.Arguments.Start, 0), of.item.Len()
			if m.Arguments.Count > 0 && m.Arguments.Count < to-from {
				to = from + m.Arguments.Count
			}
			for i := from; i < min(to, from+maxChildren); i++ {
				child := of.item.Child(i)
				list = append(list, s.variable(&child, of.expression+child.Name))
			}
		}
	default:
		return fmt.Errorf("the variables %d are those of another stop, or of none", m.Arguments.VariablesReference)
	}
	s.send(&dap.VariablesResponse{Response: response(&m.Request), Body: dap.VariablesResponseBody{Variables: list}})
	return nil
}

func (s *Server) ofScope(of scope) []dap.Variable {
	list := []dap.Variable{}
	if of.kind == buffers {
		for _, b := range s.d.Buffers() {
			list = append(list, dap.Variable{Name: b.Name, Value: fmt.Sprintf("%d bytes", len(b.Data))})
		}
		return list
	}
	for _, item := range s.d.Variables(of.frame, of.kind == arguments) {
		list = append(list, s.variable(&item, item.Name))
	}
	return list
}

func (s *Server) variable(item *debug.Item, expression string) dap.Variable {
	v := dap.Variable{Name: item.Name, Value: item.Text, Type: item.Type, EvaluateName: expression}
	if n := item.Len(); n > 0 {
		v.IndexedVariables, v.VariablesReference = n, s.newHandle(&node{*item, expression})
	}
	return v
}

// evaluate computes an expression for a hover or a watch. In the console every command of the terminal works.
func (s *Server) evaluate(m *dap.EvaluateRequest) error {
	f := s.frame(m.Arguments.FrameId)
	item, err := s.d.Evaluate(f, m.Arguments.Expression)
	if m.Arguments.Context == "repl" {
		text, to, goesOn := s.d.Command(s.at(), s.level(f), m.Arguments.Expression)
		if err != nil || goesOn {
			s.send(&dap.EvaluateResponse{Response: response(&m.Request), Body: dap.EvaluateResponseBody{Result: strings.TrimSuffix(text, "\n")}})
			if goesOn {
				s.goOn(to)
			}
			return nil
		}
	}
	if err != nil {
		return err
	}
	v := s.variable(&item, item.Name)
	body := dap.EvaluateResponseBody{Result: item.Text, Type: item.Type, VariablesReference: v.VariablesReference, IndexedVariables: v.IndexedVariables}
	if m.Arguments.Context == "repl" && item.Len() > 0 {
		body.Result = strings.TrimSuffix(item.Table(), "\n")
	}
	s.send(&dap.EvaluateResponse{Response: response(&m.Request), Body: body})
	return nil
}
