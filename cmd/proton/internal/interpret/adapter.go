package interpret

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"time"

	protocol "github.com/google/go-dap"

	"github.com/goproton/goproton/interpreter/dap"
)

// listen has editors connect.
func listen(editors *dap.Server, host string, port int, stderr io.Writer) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("wait for an editor: %w", err)
	}
	fmt.Fprintf(stderr, "proton: waiting for an editor at %s\n", l.Addr())
	go func() {
		for {
			connection, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				editors.Serve(connection)
			}()
		}
	}()
	return nil
}

// adapter passes messages between an editor, which has started this command, and the server in the process that launches kernels. It answers
// the first message itself, since only the second one says which program that process runs.
type adapter struct {
	from *bufio.Reader
	mu   sync.Mutex // of to
	to   io.Writer
}

// configuration is what an editor's launch.json says.
type configuration struct {
	Program, Cwd, Python, Connect string
	Args                          []string
}

// Adapt serves one editor at the ends of a pipe. Self is the path of this command.
func Adapt(ctx context.Context, self string, stdin io.Reader, stdout io.Writer) error {
	a := &adapter{from: bufio.NewReader(stdin), to: stdout}
	first, err := protocol.ReadBaseMessage(a.from)
	if err != nil {
		return fmt.Errorf("read the first message of an editor: %w", err)
	}
	m, err := protocol.DecodeProtocolMessage(first)
	initialize, ok := m.(*protocol.InitializeRequest)
	if err != nil || !ok {
		return errors.New("an editor's first message is not initialize")
	}
	answer := dap.Initialized(&initialize.Request)
	a.send(answer)
	second, err := protocol.ReadBaseMessage(a.from)
	if err != nil {
		return nil // the editor has left
	}
	var asked struct {
		Seq       int
		Command   string
		Arguments configuration
	}
	if err := json.Unmarshal(second, &asked); err != nil {
		return fmt.Errorf("read the configuration of an editor: %w", err)
	}
	c := asked.Arguments
	refuse := func(err error) error {
		request := protocol.Request{ProtocolMessage: protocol.ProtocolMessage{Seq: asked.Seq}, Command: asked.Command}
		a.send(dap.Refused(&request, err))
		return err
	}
	if c.Connect != "" {
		server, err := net.DialTimeout("tcp", c.Connect, 10*time.Second)
		if err != nil {
			return refuse(fmt.Errorf("connect to proton interpret --dap: %w", err))
		}
		return a.pass(server, first, second)
	}
	if c.Program == "" {
		return refuse(errors.New(`the configuration names no "program", and no "connect"`))
	}
	return a.start(ctx, self, &c, refuse, first, second)
}

// start runs the program, and connects to it when it imports Triton.
func (a *adapter) start(ctx context.Context, self string, c *configuration, refuse func(error) error, messages ...[]byte) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return refuse(err)
	}
	address := l.Addr().String()
	l.Close()
	words := []string{"interpret", "--dap", address}
	if c.Python != "" {
		words = append(words, "--python", c.Python)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	child := exec.CommandContext(ctx, self, append(append(words, "--", c.Program), c.Args...)...)
	child.Dir = c.Cwd
	child.Stdout, child.Stderr = &output{a, "stdout"}, &output{a, "stderr"}
	child.WaitDelay = time.Second
	if err := child.Start(); err != nil {
		return refuse(fmt.Errorf("start the program: %w", err))
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		server, err := net.Dial("tcp", address)
		if err == nil {
			if err := a.pass(server, messages...); err != nil {
				return err // the editor has left: the program goes with it
			}
			<-ended
			break
		}
		select {
		case <-ended:
			a.send(&protocol.TerminatedEvent{Event: dap.Event("terminated")})
			return refuse(errors.New("the program ended before it imported Triton"))
		case <-time.After(50 * time.Millisecond):
		}
	}
	a.send(&protocol.ExitedEvent{Event: dap.Event("exited"), Body: protocol.ExitedEventBody{ExitCode: child.ProcessState.ExitCode()}})
	return nil
}

// pass passes messages on until the server closes the connection. The error is that of an editor that has left.
func (a *adapter) pass(server net.Conn, messages ...[]byte) error {
	defer server.Close()
	for _, m := range messages {
		if err := protocol.WriteBaseMessage(server, m); err != nil {
			return err
		}
	}
	left := make(chan error, 1)
	go func() {
		for {
			m, err := protocol.ReadBaseMessage(a.from)
			if err != nil {
				left <- err
				server.Close()
				return
			}
			if protocol.WriteBaseMessage(server, m) != nil {
				return
			}
		}
	}()
	r := bufio.NewReader(server)
	for n := 0; ; n++ {
		m, err := protocol.ReadBaseMessage(r)
		if err != nil {
			break
		}
		if n > 0 { // the first answer is the one to initialize, which the editor has
			a.mu.Lock()
			protocol.WriteBaseMessage(a.to, m)
			a.mu.Unlock()
		}
	}
	select {
	case err := <-left:
		return fmt.Errorf("the editor has left: %w", err)
	default:
		return nil
	}
}

func (a *adapter) send(m protocol.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	protocol.WriteProtocolMessage(a.to, m)
}

// output is what the program writes.
type output struct {
	a        *adapter
	category string
}

func (o *output) Write(p []byte) (int, error) {
	o.a.send(&protocol.OutputEvent{Event: dap.Event("output"), Body: protocol.OutputEventBody{Category: o.category, Output: string(p)}})
	return len(p), nil
}
