package dap

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/goproton/goproton/interpreter/debug"
)

var errMoves = errors.New("the launch runs: pause it first")

// handle answers a request while no launch moves.
func (s *Server) handle(m dap.RequestMessage) {
	switch m := m.(type) {
	case *dap.PauseRequest:
		s.d.Pause()
		s.send(&dap.PauseResponse{Response: response(&m.Request)})
		return
	case *dap.DisconnectRequest:
		s.leave(m.Arguments != nil && m.Arguments.TerminateDebuggee, &dap.DisconnectResponse{Response: response(&m.Request)})
		return
	case *dap.TerminateRequest:
		s.leave(true, &dap.TerminateResponse{Response: response(&m.Request)})
		return
	}
	s.d.Do(func() {
		if err := s.answer(m); err != nil {
			s.fail(*m.GetRequest(), err)
		}
	})
}

func (s *Server) leave(end bool, answer dap.Message) {
	s.send(answer)
	s.send(&dap.TerminatedEvent{Event: Event("terminated")})
	how := debug.Detach
	if end {
		how = debug.Quit
	}
	s.left(how)
}

func (s *Server) answer(m dap.RequestMessage) error {
	switch m.(type) {
	case *dap.StackTraceRequest, *dap.ScopesRequest, *dap.VariablesRequest, *dap.EvaluateRequest, *dap.DataBreakpointInfoRequest:
		if s.at() == nil {
			return errMoves
		}
	}
	switch m := m.(type) {
	case *dap.InitializeRequest:
		return s.initialize(m)
	case *dap.LaunchRequest:
		s.start(m.Arguments, &dap.LaunchResponse{Response: response(&m.Request)})
	case *dap.AttachRequest:
		s.start(m.Arguments, &dap.AttachResponse{Response: response(&m.Request)})
	case *dap.ConfigurationDoneRequest:
		s.send(&dap.ConfigurationDoneResponse{Response: response(&m.Request)})
		s.begin()
	case *dap.SetBreakpointsRequest:
		return s.setBreakpoints(m)
	case *dap.SetFunctionBreakpointsRequest:
		return s.setFunctions(m)
	case *dap.SetExceptionBreakpointsRequest:
		s.d.StopAtFindings(len(m.Arguments.Filters)+len(m.Arguments.FilterOptions) > 0)
		s.send(&dap.SetExceptionBreakpointsResponse{Response: response(&m.Request), Body: dap.SetExceptionBreakpointsResponseBody{Breakpoints: []dap.Breakpoint{}}})
	case *dap.DataBreakpointInfoRequest:
		return s.dataInfo(m)
	case *dap.SetDataBreakpointsRequest:
		return s.setData(m)
	case *dap.ThreadsRequest:
		s.send(&dap.ThreadsResponse{Response: response(&m.Request), Body: dap.ThreadsResponseBody{Threads: s.threads()}})
	case *dap.StackTraceRequest:
		return s.stackTrace(m)
	case *dap.ScopesRequest:
		return s.scopes(m)
	case *dap.VariablesRequest:
		return s.variables(m)
	case *dap.EvaluateRequest:
		return s.evaluate(m)
	case *dap.ExceptionInfoRequest:
		return s.exceptionInfo(m)
	case *dap.SourceRequest:
		return s.sourceText(m)
	default:
		return s.move(m)
	}
	return nil
}

// start stops the next launch at its first line, if the configuration says so, and asks the editor for its breakpoints.
func (s *Server) start(raw json.RawMessage, answer dap.Message) {
	var configuration struct {
		StopOnEntry bool `json:"stopOnEntry"`
	}
	if json.Unmarshal(raw, &configuration) == nil {
		s.d.StopOnEntry(configuration.StopOnEntry)
	}
	s.send(answer)
	s.send(&dap.InitializedEvent{Event: Event("initialized")})
}

func (s *Server) initialize(m *dap.InitializeRequest) error {
	if !m.Arguments.LinesStartAt1 || m.Arguments.PathFormat != "path" {
		return fmt.Errorf("lines must be counted from 1, and sources named by paths")
	}
	s.send(Initialized(&m.Request))
	return nil
}

// Initialized is the answer to an editor's first request.
func Initialized(to *dap.Request) *dap.InitializeResponse {
	return &dap.InitializeResponse{Response: response(to), Body: dap.Capabilities{
		SupportsConfigurationDoneRequest: true, SupportsFunctionBreakpoints: true, SupportsConditionalBreakpoints: true, SupportsHitConditionalBreakpoints: true,
		SupportsEvaluateForHovers: true, SupportsStepBack: true, SupportsExceptionInfoRequest: true, SupportTerminateDebuggee: true, SupportsLogPoints: true,
		SupportsDataBreakpoints: true, SupportsTerminateRequest: true, SupportsSteppingGranularity: true,
		ExceptionBreakpointFilters: []dap.ExceptionBreakpointsFilter{{Filter: "findings", Label: "What a kernel must not do", Default: true}},
	}}
}

// move has the launch go on: that of the stopped instance or, for another thread, the instance that thread stands for.
func (s *Server) move(m dap.RequestMessage) error {
	var thread int
	var to debug.Resume
	var answer dap.Message
	switch m := m.(type) {
	case *dap.ContinueRequest:
		thread, answer = m.Arguments.ThreadId, &dap.ContinueResponse{Response: response(&m.Request), Body: dap.ContinueResponseBody{AllThreadsContinued: true}}
	case *dap.NextRequest:
		thread, to.Kind, answer = m.Arguments.ThreadId, stepped(m.Arguments.Granularity, debug.Next), &dap.NextResponse{Response: response(&m.Request)}
	case *dap.StepInRequest:
		thread, to.Kind, answer = m.Arguments.ThreadId, stepped(m.Arguments.Granularity, debug.Step), &dap.StepInResponse{Response: response(&m.Request)}
	case *dap.StepOutRequest:
		thread, to.Kind, answer = m.Arguments.ThreadId, debug.Finish, &dap.StepOutResponse{Response: response(&m.Request)}
	case *dap.StepBackRequest:
		thread, to.Kind, answer = m.Arguments.ThreadId, debug.Back, &dap.StepBackResponse{Response: response(&m.Request)}
	case *dap.ReverseContinueRequest:
		thread, to.Kind, answer = m.Arguments.ThreadId, debug.Restart, &dap.ReverseContinueResponse{Response: response(&m.Request)}
	default:
		return fmt.Errorf("the request %s is not supported", m.GetRequest().Command)
	}
	if s.at() == nil {
		return errMoves
	}
	if at, ok := s.instanceOf(thread); ok && at != s.at().Program {
		to = debug.Resume{Kind: debug.Switch, Instance: at}
	}
	var err error
	switch to.Kind {
	case debug.Switch:
		err = s.d.CanSwitch(to.Instance)
	case debug.Back:
		err = s.d.CanGoBack(s.at())
	case debug.Restart:
		err = s.d.CanRepeat()
	}
	if err != nil {
		return err
	}
	s.send(answer)
	s.goOn(to)
	return nil
}

func stepped(g dap.SteppingGranularity, line debug.Kind) debug.Kind {
	if g == "instruction" {
		return debug.Operation
	}
	return line
}

// goOn has the launch go on that has stopped, and says whether there was one.
func (s *Server) goOn(to debug.Resume) bool {
	s.mu.Lock()
	waiting := s.resume
	s.resume, s.stop = nil, nil
	s.mu.Unlock()
	if waiting != nil {
		waiting <- to
	}
	return waiting != nil
}

func (s *Server) setBreakpoints(m *dap.SetBreakpointsRequest) error {
	path := m.Arguments.Source.Path
	if path == "" {
		path = m.Arguments.Source.Name
	}
	if path == "" {
		return fmt.Errorf("breakpoints need the path of a source")
	}
	made := []*debug.Breakpoint{}
	answers := []dap.Breakpoint{}
	for _, b := range m.Arguments.Breakpoints {
		ignore, err := ignored(b.HitCondition)
		var set *debug.Breakpoint
		if err == nil {
			set, err = debug.NewBreakpoint(debug.Breakpoint{File: path, Line: b.Line, Condition: b.Condition, Log: b.LogMessage, Ignore: ignore})
		}
		if err != nil {
			answers = append(answers, dap.Breakpoint{Line: b.Line, Message: err.Error()})
			continue
		}
		made = append(made, set)
		answers = append(answers, dap.Breakpoint{})
	}
	placed := s.replace(path, made)
	for i := range answers {
		if answers[i].Message == "" {
			answers[i], placed = placed[0], placed[1:]
		}
	}
	s.send(&dap.SetBreakpointsResponse{Response: response(&m.Request), Body: dap.SetBreakpointsResponseBody{Breakpoints: answers}})
	return nil
}

// ignored is how often a line is passed before its breakpoint stops: 3 and >= 3 stop at the third time.
func ignored(text string) (int, error) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, nil
	}
	number := strings.TrimLeft(text, ">= ")
	n, err := strconv.Atoi(number)
	if operator := strings.TrimSpace(strings.TrimSuffix(text, number)); err != nil || n < 1 || operator != "" && operator != ">" && operator != ">=" {
		return 0, fmt.Errorf("the hit count %q is not understood: write 3, or >= 3, to stop from the third time", text)
	} else if operator == ">" {
		n++
	}
	return n - 1, nil
}

// replace sets the breakpoints of a source instead of those that it had.
func (s *Server) replace(path string, list []*debug.Breakpoint) []dap.Breakpoint {
	for _, b := range s.set[path] {
		s.d.Delete(b.Number)
	}
	answers := make([]dap.Breakpoint, len(list))
	for i, b := range list {
		s.d.AddBreakpoint(b)
		answers[i] = dap.Breakpoint{Id: b.Number, Line: b.Line, Message: "no launch has had this line yet"}
		if file, line, ok := b.Place(); ok {
			answers[i] = dap.Breakpoint{Id: b.Number, Verified: true, Line: line, Source: s.source(file)}
		}
	}
	s.set[path] = list
	return answers
}

func (s *Server) setFunctions(m *dap.SetFunctionBreakpointsRequest) error {
	var made []*debug.Breakpoint
	for _, b := range m.Arguments.Breakpoints {
		ignore, err := ignored(b.HitCondition)
		if err != nil {
			return err
		}
		set, err := debug.NewBreakpoint(debug.Breakpoint{Function: b.Name, Condition: b.Condition, Ignore: ignore})
		if err != nil {
			return err
		}
		made = append(made, set)
	}
	s.send(&dap.SetFunctionBreakpointsResponse{Response: response(&m.Request), Body: dap.SetFunctionBreakpointsResponseBody{Breakpoints: s.replace("", made)}})
	return nil
}

func (s *Server) dataInfo(m *dap.DataBreakpointInfoRequest) error {
	text := m.Arguments.Name
	if of, ok := s.handleOf(m.Arguments.VariablesReference).(*node); ok && of.expression != "" {
		text = of.expression + text
	}
	body := dap.DataBreakpointInfoResponseBody{DataId: text, Description: text, AccessTypes: []dap.DataBreakpointAccessType{"write"}}
	if _, err := s.d.Evaluate(s.frame(m.Arguments.FrameId), text); err != nil {
		body.DataId, body.Description = nil, err.Error()
	}
	s.send(&dap.DataBreakpointInfoResponse{Response: response(&m.Request), Body: body})
	return nil
}

func (s *Server) setData(m *dap.SetDataBreakpointsRequest) error {
	for _, w := range s.watched {
		s.d.Delete(w.Number)
	}
	s.watched = nil
	answers := []dap.Breakpoint{}
	for _, b := range m.Arguments.Breakpoints {
		if s.at() == nil {
			answers = append(answers, dap.Breakpoint{Message: "a value is watched from a stop on"})
			continue
		}
		w, err := s.d.Watch(s.at(), s.frame(0), b.DataId)
		if err != nil {
			answers = append(answers, dap.Breakpoint{Message: err.Error()})
			continue
		}
		s.watched = append(s.watched, w)
		answers = append(answers, dap.Breakpoint{Id: w.Number, Verified: true})
	}
	s.send(&dap.SetDataBreakpointsResponse{Response: response(&m.Request), Body: dap.SetDataBreakpointsResponseBody{Breakpoints: answers}})
	return nil
}

// maxThreads bounds the program instances that are listed.
const maxThreads = 1024

func (s *Server) threads() []dap.Thread {
	if _, ok := s.d.Grid(); !ok {
		return []dap.Thread{{Id: 1, Name: "no launch"}}
	}
	list := []dap.Thread{}
	has := false
	for id := 1; id <= maxThreads; id++ {
		at, ok := s.instanceOf(id)
		if !ok {
			break
		}
		has = has || s.at() != nil && at == s.at().Program
		list = append(list, dap.Thread{Id: id, Name: s.threadName(at)})
	}
	if s.at() != nil && !has {
		list = append(list, dap.Thread{Id: s.threadOf(s.at().Program), Name: s.threadName(s.at().Program)})
	}
	return list
}

func (s *Server) threadName(at [3]int32) string {
	name := fmt.Sprintf("program (%d, %d, %d)", at[0], at[1], at[2])
	switch {
	case s.at() != nil && s.at().Program == at:
		return name
	case s.d.Begun(at):
		return name + ": ended"
	}
	return name + ": not begun"
}

func (s *Server) stackTrace(m *dap.StackTraceRequest) error {
	body := dap.StackTraceResponseBody{StackFrames: []dap.StackFrame{}}
	if at, ok := s.instanceOf(m.Arguments.ThreadId); ok && at != s.at().Program {
		name := "not begun: continue or step goes to it"
		if s.d.Begun(at) {
			name = "ended: continue or step runs the launch again up to it"
		}
		body.StackFrames = append(body.StackFrames, dap.StackFrame{Name: name, PresentationHint: "label"})
	} else {
		stack := s.at().Stack
		for i := len(stack) - 1 - m.Arguments.StartFrame; i >= 0 && (m.Arguments.Levels <= 0 || len(body.StackFrames) < m.Arguments.Levels); i-- {
			f := stack[i]
			body.StackFrames = append(body.StackFrames, dap.StackFrame{Id: s.newHandle(f), Name: f.Name, Source: s.source(f.File), Line: f.Line, Column: 1})
		}
	}
	body.TotalFrames = max(len(body.StackFrames)+m.Arguments.StartFrame, 1)
	if len(body.StackFrames) == 0 || body.StackFrames[0].PresentationHint == "" {
		body.TotalFrames = len(s.at().Stack)
	}
	s.send(&dap.StackTraceResponse{Response: response(&m.Request), Body: body})
	return nil
}

func (s *Server) source(file string) *dap.Source {
	source := &dap.Source{Name: filepath.Base(file), Path: file}
	if _, ok := s.d.SourceText(file); ok {
		source.SourceReference = s.newHandle(sourceText(file))
	}
	return source
}

type sourceText string

func (s *Server) sourceText(m *dap.SourceRequest) error {
	reference := m.Arguments.SourceReference
	if m.Arguments.Source != nil && m.Arguments.Source.SourceReference > 0 {
		reference = m.Arguments.Source.SourceReference
	}
	path := ""
	if file, ok := s.handleOf(reference).(sourceText); ok {
		path = string(file)
	} else if m.Arguments.Source != nil {
		path = m.Arguments.Source.Path
	}
	text, ok := s.d.SourceText(path)
	if !ok {
		return fmt.Errorf("the source %q is not known here", path)
	}
	s.send(&dap.SourceResponse{Response: response(&m.Request), Body: dap.SourceResponseBody{Content: text, MimeType: "text/x-python"}})
	return nil
}

func (s *Server) exceptionInfo(m *dap.ExceptionInfoRequest) error {
	if s.at() == nil || s.at().Finding == nil {
		return fmt.Errorf("the launch has not stopped at a finding")
	}
	f := s.at().Finding
	s.send(&dap.ExceptionInfoResponse{Response: response(&m.Request), Body: dap.ExceptionInfoResponseBody{ExceptionId: f.Kind, Description: f.Error(), BreakMode: "always"}})
	return nil
}
