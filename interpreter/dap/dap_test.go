package dap

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/interpreter/debug"
	"github.com/goproton/goproton/triton/ttir"
)

// program is the kernel of the debugger's tests, over a grid of 8 × 8.
func program(t testing.TB) (*interpreter.Program, []interpreter.Argument, *interpreter.Buffer, map[string]string) {
	t.Helper()
	p, err := interpreter.Load(ttir.Parse(string(testkit.Read(t, "../debug/testdata/add.front.ttir"))))
	if err != nil {
		t.Fatal(err)
	}
	const n = 128
	var list []interpreter.Argument
	var z *interpreter.Buffer
	for _, name := range []string{"x_ptr", "y_ptr", "z_ptr"} {
		z = &interpreter.Buffer{Name: name, Data: make([]byte, 4*n*n)}
		for k := range n * n {
			binary.LittleEndian.PutUint32(z.Data[4*k:], math.Float32bits(float32(k)/4))
		}
		list = append(list, interpreter.Pointer(z, 0))
	}
	return p, append(list, interpreter.Int(n), interpreter.Int(n)), z, map[string]string{"/src/add.py": string(testkit.Read(t, "../debug/testdata/add.py"))}
}

// editor is a client that waits for what it expects.
type editor struct {
	t      *testing.T
	c      net.Conn
	r      *bufio.Reader
	seq    int
	events []dap.Message
}

// start launches the kernel under a server, and returns an editor that has set itself up.
func start(t *testing.T, sources bool) (*editor, chan error) {
	t.Helper()
	p, arguments, _, texts := program(t)
	settings := debug.Settings{}
	if sources {
		settings.Sources = texts
	}
	d, err := debug.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	s := New(d)
	d.UI = s
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		if server, err := l.Accept(); err == nil {
			defer server.Close()
			s.Serve(server)
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := d.Launch(p, "", [3]int32{8, 8, 1}, arguments, interpreter.Options{})
		ended <- err
	}()
	t.Cleanup(func() { c.Close() })
	return &editor{t: t, c: c, r: bufio.NewReader(c)}, ended
}

// ask sends a request, and returns its answer; events that arrive before are kept.
func (e *editor) ask(command string, arguments any) json.RawMessage {
	e.t.Helper()
	body, err := e.try(command, arguments)
	if err != nil {
		e.t.Fatalf("%s: %v", command, err)
	}
	return body
}

func (e *editor) try(command string, arguments any) (json.RawMessage, error) {
	e.t.Helper()
	e.seq++
	raw, _ := json.Marshal(map[string]any{"seq": e.seq, "type": "request", "command": command, "arguments": arguments})
	if err := dap.WriteBaseMessage(e.c, raw); err != nil {
		e.t.Fatal(err)
	}
	for {
		raw := e.read()
		var m struct {
			Type       string
			RequestSeq int `json:"request_seq"`
			Success    bool
			Message    string
			Body       json.RawMessage
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			e.t.Fatal(err)
		}
		if m.Type == "event" {
			e.keep(raw)
			continue
		}
		if m.RequestSeq != e.seq {
			e.t.Fatalf("an answer to %d, and not to %d", m.RequestSeq, e.seq)
		}
		if !m.Success {
			return nil, errors.New(m.Message)
		}
		return m.Body, nil
	}
}

func (e *editor) read() []byte {
	e.t.Helper()
	e.c.SetReadDeadline(time.Now().Add(30 * time.Second))
	raw, err := dap.ReadBaseMessage(e.r)
	if err != nil {
		e.t.Fatal(err)
	}
	if bytes.Contains(raw, []byte(":null")) && !bytes.Contains(raw, []byte(`"dataId":null`)) {
		e.t.Errorf("null in %s", raw)
	}
	return raw
}

func (e *editor) keep(raw []byte) {
	m, err := dap.DecodeProtocolMessage(raw)
	if err != nil {
		e.t.Fatal(err)
	}
	e.events = append(e.events, m)
}

// event waits for an event.
func event1[T dap.Message](e *editor) T {
	e.t.Helper()
	for {
		for i, m := range e.events {
			if m, ok := m.(T); ok {
				e.events = append(e.events[:i:i], e.events[i+1:]...)
				return m
			}
		}
		e.keep(e.read())
	}
}

func into[T any](e *editor, raw json.RawMessage) (to T) {
	e.t.Helper()
	if err := json.Unmarshal(raw, &to); err != nil {
		e.t.Fatal(err)
	}
	return to
}

func (e *editor) setUp(breakpoints ...map[string]any) []dap.Breakpoint {
	e.t.Helper()
	e.ask("initialize", map[string]any{"adapterID": "proton", "linesStartAt1": true, "pathFormat": "path"})
	e.ask("attach", map[string]any{})
	event1[*dap.InitializedEvent](e)
	set := into[dap.SetBreakpointsResponseBody](e, e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": "/src/add.py"}, "breakpoints": breakpoints}))
	e.ask("setExceptionBreakpoints", map[string]any{"filters": []string{"findings"}})
	e.ask("configurationDone", map[string]any{})
	return set.Breakpoints
}

// top is the innermost frame of a stopped thread.
func (e *editor) top(thread int) dap.StackFrame {
	e.t.Helper()
	return into[dap.StackTraceResponseBody](e, e.ask("stackTrace", map[string]any{"threadId": thread})).StackFrames[0]
}

func (e *editor) stopped(line int) *dap.StoppedEvent {
	e.t.Helper()
	s := event1[*dap.StoppedEvent](e)
	if at := e.top(s.Body.ThreadId); at.Line != line {
		e.t.Fatalf("stopped at line %d of %s, and not at %d", at.Line, at.Name, line)
	}
	return s
}

func (e *editor) evaluate(text, context string, frame int) dap.EvaluateResponseBody {
	e.t.Helper()
	return into[dap.EvaluateResponseBody](e, e.ask("evaluate", map[string]any{"expression": text, "context": context, "frameId": frame}))
}

// TestSession is what a user does in an editor, from the first breakpoint to the end of the program.
func TestSession(t *testing.T) {
	e, ended := start(t, true)
	set := e.setUp(map[string]any{"line": 20, "condition": "pid == (6, 5, 0)"}, map[string]any{"line": 21, "logMessage": "x at {offsets[0, 0]}, of {grid}", "hitCondition": ">= 64"}, map[string]any{"line": 3, "condition": "("}, map[string]any{"line": 4, "hitCondition": "x"})
	if len(set) != 4 || set[2].Verified || set[3].Verified || !strings.Contains(set[2].Message, "missing") || !strings.Contains(set[3].Message, "hit count") {
		t.Errorf("%+v", set)
	}
	s := e.stopped(20)
	thread := 1 + 6 + 8*5
	if s.Body.Reason != "breakpoint" || s.Body.ThreadId != thread || len(s.Body.HitBreakpointIds) != 1 {
		t.Errorf("%+v", s.Body)
	}

	threads := into[dap.ThreadsResponseBody](e, e.ask("threads", nil)).Threads
	if len(threads) != 64 || threads[thread-1].Name != "program (6, 5, 0)" || threads[0].Name != "program (0, 0, 0): ended" || threads[63].Name != "program (7, 7, 0): not begun" {
		t.Errorf("%+v", threads)
	}
	if other := e.top(1); other.PresentationHint != "label" || !strings.Contains(other.Name, "ended") {
		t.Errorf("%+v", other)
	}

	frame := e.top(thread)
	if frame.Name != "add_kernel" || frame.Source.SourceReference == 0 {
		t.Errorf("%+v", frame)
	}
	text := into[dap.SourceResponseBody](e, e.ask("source", map[string]any{"sourceReference": frame.Source.SourceReference}))
	if !strings.Contains(text.Content, "def add_kernel") {
		t.Error(text.Content)
	}
	scopes := into[dap.ScopesResponseBody](e, e.ask("scopes", map[string]any{"frameId": frame.Id})).Scopes
	if len(scopes) != 3 || scopes[0].Name != "Arguments" {
		t.Fatalf("%+v", scopes)
	}
	variables := func(reference int, more map[string]any) []dap.Variable {
		arguments := map[string]any{"variablesReference": reference}
		for k, v := range more {
			arguments[k] = v
		}
		return into[dap.VariablesResponseBody](e, e.ask("variables", arguments)).Variables
	}
	if list := variables(scopes[0].VariablesReference, nil); len(list) != 5 || list[3].Name != "dim0" || list[3].Value != "128" || list[3].Type != "int32" {
		t.Errorf("%+v", list)
	}
	if list := variables(scopes[2].VariablesReference, nil); len(list) != 3 || list[0].Value != "65536 bytes" {
		t.Errorf("%+v", list)
	}
	var offsets dap.Variable
	for _, v := range variables(scopes[1].VariablesReference, nil) {
		if v.Name == "offsets" {
			offsets = v
		}
	}
	if offsets.IndexedVariables != 16 || offsets.Value != "int32[16, 16]  12368 … 14303" {
		t.Errorf("%+v", offsets)
	}
	rows := variables(offsets.VariablesReference, map[string]any{"filter": "indexed", "start": 3, "count": 2})
	if len(rows) != 2 || rows[0].Name != "[3]" || rows[0].EvaluateName != "offsets[3]" || rows[0].IndexedVariables != 16 {
		t.Fatalf("%+v", rows)
	}
	if cells := variables(rows[1].VariablesReference, map[string]any{"start": 14}); len(cells) != 2 || cells[1].Name != "[15]" || cells[1].Value != "12895" || cells[1].VariablesReference != 0 {
		t.Errorf("%+v", cells)
	}

	if v := e.evaluate("max(offsets)", "hover", frame.Id); v.Result != "14303" || v.Type != "int32" {
		t.Errorf("%+v", v)
	}
	if v := e.evaluate("p offsets[:2, :2]", "repl", frame.Id); v.Result != "offsets[:2, :2]: int32[2, 2]  12368 … 12497\n         0      1\n  0  12368  12369\n  1  12496  12497" {
		t.Errorf("%+v", v)
	}
	if _, err := e.try("evaluate", map[string]any{"expression": "nothing", "context": "hover"}); err == nil || !strings.Contains(err.Error(), "no variable nothing") {
		t.Error(err)
	}
	if v := e.evaluate("nonsense here", "repl", frame.Id); !strings.HasPrefix(v.Result, "*** ") {
		t.Errorf("%+v", v)
	}
	large := e.evaluate("x_ptr[0:16384]", "watch", frame.Id)
	if page := variables(large.VariablesReference, map[string]any{"filter": "indexed", "start": 16000, "count": 100}); len(page) != 100 || page[0].Name != "[16000]" || page[0].Value != "4000" {
		t.Errorf("%d, %+v", len(page), page[0])
	}

	e.ask("next", map[string]any{"threadId": thread})
	e.stopped(21)
	e.ask("stepBack", map[string]any{"threadId": thread})
	e.stopped(20)
	e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": "/src/add.py"}, "breakpoints": []map[string]any{{"line": 23}}})
	e.ask("continue", map[string]any{"threadId": thread})
	e.stopped(23)
	e.ask("stepIn", map[string]any{"threadId": thread})
	e.stopped(7)
	stack := into[dap.StackTraceResponseBody](e, e.ask("stackTrace", map[string]any{"threadId": thread}))
	if len(stack.StackFrames) != 2 || stack.StackFrames[0].Name != "helper" || stack.StackFrames[1].Line != 23 || stack.TotalFrames != 2 {
		t.Errorf("%+v", stack)
	}
	if v := e.evaluate("offsets[0, 0]", "watch", stack.StackFrames[1].Id); v.Result != "12368" {
		t.Errorf("a variable of the caller: %+v", v)
	}
	e.ask("stepOut", map[string]any{"threadId": thread})
	e.stopped(24)

	info := into[dap.DataBreakpointInfoResponseBody](e, e.ask("dataBreakpointInfo", map[string]any{"name": "z_ptr[12370]"}))
	watched := into[dap.SetDataBreakpointsResponseBody](e, e.ask("setDataBreakpoints", map[string]any{"breakpoints": []map[string]any{{"dataId": info.DataId}, {"dataId": "nothing"}}})).Breakpoints
	if !watched[0].Verified || watched[1].Verified {
		t.Errorf("%+v", watched)
	}
	e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": "/src/add.py"}, "breakpoints": []map[string]any{}})
	e.ask("continue", map[string]any{"threadId": thread})
	if s := e.stopped(29); s.Body.Reason != "data breakpoint" || !strings.Contains(s.Body.Text, "has changed from") {
		t.Errorf("%+v", s.Body)
	}

	e.ask("next", map[string]any{"threadId": 4}) // the instance (3, 0, 0), which has ended: the launch runs again
	if s := e.stopped(14); s.Body.ThreadId != 4 {
		t.Errorf("%+v", s.Body)
	}
	if _, err := e.try("next", map[string]any{"threadId": 1000}); err != nil {
		t.Error(err) // a thread that stands for nothing is the present one
	}
	e.stopped(15)
	e.ask("disconnect", map[string]any{})
	event1[*dap.TerminatedEvent](e)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, m := range e.events {
		if o, ok := m.(*dap.OutputEvent); ok {
			t.Logf("%+v", o.Body)
		}
	}
}

// TestLogPoints: a text with values arrives as output, from the 63rd time on.
func TestLogPoints(t *testing.T) {
	e, ended := start(t, false)
	e.setUp(map[string]any{"line": 20, "logMessage": "first {offsets[0, 0]} of {{{pid}}}", "hitCondition": "63"})
	first := event1[*dap.OutputEvent](e).Body
	if first.Output != "(6, 7, 0) at add.py:20  first 12400 of {(6, 7, 0)}\n" {
		t.Errorf("%+v", first)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestPauseAndQuit: a launch that runs is stopped, answers nothing about its stack until then, and ends with the editor.
func TestPauseAndQuit(t *testing.T) {
	e, ended := start(t, false)
	e.ask("initialize", map[string]any{"adapterID": "proton"})
	e.ask("launch", map[string]any{"stopOnEntry": true})
	if _, err := e.try("stackTrace", map[string]any{"threadId": 1}); err == nil || !strings.Contains(err.Error(), "runs") {
		t.Error(err)
	}
	e.ask("configurationDone", nil)
	e.stopped(14)
	if _, err := e.try("stepBack", map[string]any{"threadId": 1}); err == nil || !strings.Contains(err.Error(), "no line before") {
		t.Error(err)
	}
	e.ask("pause", map[string]any{"threadId": 1})
	e.ask("continue", map[string]any{"threadId": 1})
	if s := e.stopped(15); s.Body.Reason != "pause" {
		t.Errorf("%+v", s.Body)
	}
	for _, unknown := range []string{"restartFrame", "goto", "modules", "strange"} {
		if _, err := e.try(unknown, map[string]any{}); err == nil {
			t.Errorf("%s was answered", unknown)
		}
	}
	e.ask("disconnect", map[string]any{"terminateDebuggee": true})
	if err := <-ended; !errors.Is(err, debug.ErrQuit) {
		t.Error(err)
	}
}

// TestEditorGoes: when the connection breaks, the launch runs on.
func TestEditorGoes(t *testing.T) {
	e, ended := start(t, false)
	e.setUp(map[string]any{"line": 20})
	e.stopped(20)
	e.c.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAddress: a port, or a host and a port.
func TestAddress(t *testing.T) {
	for text, want := range map[string]string{"4711": "127.0.0.1 4711", "0.0.0.0:0": "0.0.0.0 0", "[::1]:65535": "::1 65535", "": "", ":1": "", "x": "", "h:65536": "", "-": "", "h:": ""} {
		host, port, err := Address(text)
		if got := fmt.Sprint(host, " ", port); want == "" && err == nil || want != "" && got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

// both is a connection whose input is there from the beginning.
type both struct {
	io.Reader
	io.Writer
}

// FuzzMessages: whatever arrives, the server ends with its input, and the launch too.
func FuzzMessages(f *testing.F) {
	message := func(text string) string {
		var b bytes.Buffer
		dap.WriteBaseMessage(&b, []byte(text))
		return b.String()
	}
	f.Add(message(`{"seq":1,"type":"request","command":"initialize","arguments":{}}`) + message(`{"seq":2,"type":"request","command":"configurationDone"}`) + message(`{"seq":3,"type":"request","command":"threads"}`))
	for _, command := range []string{"setBreakpoints", "stackTrace", "scopes", "variables", "evaluate", "disconnect", "setDataBreakpoints", "continue", "source", "dataBreakpointInfo", "setFunctionBreakpoints", "terminate", "pause", "exceptionInfo", "launch"} {
		f.Add(message(`{"seq":1,"type":"request","command":"` + command + `","arguments":{}}`))
		f.Add(message(`{"seq":1,"type":"request","command":"` + command + `"}`))
	}
	f.Add("Content-Length: 5\r\n\r\n{}")
	p, arguments, _, _ := program(f)
	f.Fuzz(func(t *testing.T, input string) {
		d, err := debug.New(debug.Settings{Breakpoints: []string{"add.py:20"}})
		if err != nil {
			t.Fatal(err)
		}
		s := New(d)
		d.UI = s
		ended := make(chan error, 1)
		go func() {
			_, err := d.Launch(p, "", [3]int32{2, 1, 1}, arguments, interpreter.Options{})
			ended <- err
		}()
		s.Serve(both{strings.NewReader(input), io.Discard})
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("the launch did not end")
		}
	})
}
