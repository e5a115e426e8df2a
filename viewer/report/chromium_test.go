package report

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
)

// A client of a headless Chromium, over the two pipes of --remote-debugging-pipe: JSON messages that end in a zero
// byte (the DevTools protocol). It does what the tests need and nothing else.

// chromium is one browser process.
type chromium struct {
	commands io.WriteCloser
	stop     func()

	mu      sync.Mutex // guards what is below
	last    int
	waiting map[int]chan message
	pages   map[string]*page // by session
	err     error
}

type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *protocolError  `json:"error,omitempty"`
}

type protocolError struct{ Message string }

// browserPath finds a browser: the one that PROTON_CHROMIUM names, one that is installed, or the one that
// tools/oracles.sh has fetched.
func browserPath(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("PROTON_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	fetched, err := filepath.Abs("../../.venv/oracles/chromium/chromium")
	if err == nil {
		if _, err := os.Stat(fetched); err == nil {
			return fetched
		}
	}
	t.Skip("no Chromium here: install one, or run tools/oracles.sh, or set PROTON_CHROMIUM")
	return ""
}

// shared is one browser for all tests: starting one takes a second.
var shared struct {
	once    sync.Once
	browser *chromium
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.browser != nil {
		shared.browser.stop()
	}
	os.Exit(code)
}

func browser(t testing.TB) *chromium {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds, and the race detector sees nothing of it")
	}
	path := browserPath(t)
	shared.once.Do(func() { shared.browser, shared.err = startChromium(path) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.browser
}

func startChromium(path string) (*chromium, error) {
	home, err := os.MkdirTemp("", "proton-chromium-")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-extensions", "--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb",
		"--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe", "--user-data-dir="+home, "about:blank")
	// What was fetched brings its own libraries along, next to it.
	cmd.Env = append(os.Environ(), "HOME="+home, "LD_LIBRARY_PATH="+filepath.Join(filepath.Dir(path), "lib")+":"+os.Getenv("LD_LIBRARY_PATH"))
	if config := fontConfig(filepath.Dir(path), home); config != "" {
		cmd.Env = append(cmd.Env, "FONTCONFIG_FILE="+config)
	}
	commandsRead, commandsWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answersRead, answersWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.ExtraFiles = []*os.File{commandsRead, answersWrite} // descriptors 3 and 4 there
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	commandsRead.Close()
	answersWrite.Close()
	c := &chromium{commands: commandsWrite, waiting: map[int]chan message{}, pages: map[string]*page{}}
	c.stop = func() {
		cmd.Process.Kill()
		cmd.Wait()
		os.RemoveAll(home)
	}
	go c.listen(answersRead)
	if _, err := c.call("", "Browser.getVersion", nil); err != nil {
		c.stop()
		return nil, fmt.Errorf("start %s: %w\n%s", path, err, stderr.String())
	}
	return c, nil
}

// fontConfig names the fonts that were fetched with a browser, on a machine that has none of its own; else it is "".
func fontConfig(browser, home string) string {
	if _, err := os.Stat("/etc/fonts/fonts.conf"); err == nil {
		return ""
	}
	config := filepath.Join(home, "fonts.conf")
	text := fmt.Sprintf("<?xml version=\"1.0\"?><fontconfig><dir>%s</dir><cachedir>%s</cachedir></fontconfig>", filepath.Join(browser, "fonts"), home)
	if os.WriteFile(config, []byte(text), 0o644) != nil {
		return ""
	}
	return config
}

// listen hands out answers and events until the browser is gone.
func (c *chromium) listen(answers io.Reader) {
	in := bufio.NewReaderSize(answers, 1<<20)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			c.mu.Lock()
			c.err = fmt.Errorf("the browser is gone: %w", err)
			for _, w := range c.waiting {
				close(w)
			}
			c.waiting = nil
			c.mu.Unlock()
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		c.mu.Lock()
		if w := c.waiting[m.ID]; w != nil && m.ID != 0 {
			w <- m
			delete(c.waiting, m.ID)
		} else if p := c.pages[m.Session]; p != nil {
			p.event(m)
		}
		c.mu.Unlock()
	}
}

// call sends a command and waits for its answer.
func (c *chromium) call(session, method string, arguments any) (json.RawMessage, error) {
	params, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	if arguments == nil {
		params = []byte("{}")
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return nil, c.err
	}
	c.last++
	m := message{ID: c.last, Method: method, Session: session, Params: params}
	c.waiting[m.ID] = answer
	text, err := json.Marshal(m)
	if err == nil {
		_, err = c.commands.Write(append(text, 0))
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case m, ok := <-answer:
		if !ok {
			return nil, c.err
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		return m.Result, nil
	case <-time.After(testkit.Patience()):
		return nil, fmt.Errorf("%s: no answer in time", method)
	}
}

// page is one tab of the browser.
type page struct {
	t       testing.TB
	c       *chromium
	session string
	target  string

	// Guarded by c.mu.
	complaints []string // errors and warnings of the console
	requests   []string // for anything but the page itself and what lies within it
}

// screen is what a page is shown on.
type screen struct {
	width, height int
	dark          bool
	before        string // script that runs before the page's own
}

// open shows a file, and at the end of the test makes sure that it was silent: no error, no warning, no request.
func (c *chromium) open(t testing.TB, file string, s screen) *page {
	t.Helper()
	p := &page{t: t, c: c}
	target := struct{ TargetID string }{}
	p.must(c.call("", "Target.createTarget", map[string]any{"url": "about:blank"}))(&target)
	attached := struct{ SessionID string }{}
	p.must(c.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}))(&attached)
	p.session, p.target = attached.SessionID, target.TargetID
	c.mu.Lock()
	c.pages[p.session] = p
	c.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.do(domain+".enable", nil)
	}
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}})
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": s.width, "height": s.height, "deviceScaleFactor": 1, "mobile": s.width < 500})
	if before := slowly() + s.before; before != "" {
		p.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": before})
	}
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	p.do("Page.navigate", map[string]any{"url": "file://" + path})
	t.Cleanup(p.close)
	p.wait(`document.documentElement?.dataset.ready === ""`)
	return p
}

// close closes the tab; once it was closed it does nothing.
func (p *page) close() {
	p.t.Helper()
	if p.target == "" {
		return
	}
	p.silent()
	p.c.call("", "Target.closeTarget", map[string]any{"targetId": p.target})
	p.target = ""
}

// forget drops the complaints so far: they were provoked.
func (p *page) forget() {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.complaints = nil
}

// event is called with c.mu held.
func (p *page) event(m message) {
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		p.complaints = append(p.complaints, string(m.Params))
	case "Runtime.consoleAPICalled":
		p.complaints = append(p.complaints, string(m.Params))
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &sent) == nil && !strings.HasPrefix(sent.Request.URL, "file://") && !strings.HasPrefix(sent.Request.URL, "data:") &&
			!strings.HasPrefix(sent.Request.URL, "about:") {
			p.requests = append(p.requests, sent.Request.URL)
		}
	}
}

// silent fails the test if the page complained or asked a network for something.
func (p *page) silent() {
	p.t.Helper()
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	for _, c := range p.complaints {
		p.t.Errorf("console: %s", c)
	}
	for _, r := range p.requests {
		p.t.Errorf("the page asked for %s", r)
	}
	p.complaints, p.requests = nil, nil
}

// must fails the test on an error, else lets the answer be read.
func (p *page) must(answer json.RawMessage, err error) func(into any) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	return func(into any) {
		p.t.Helper()
		if err := json.Unmarshal(answer, into); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *page) do(method string, arguments any) {
	p.t.Helper()
	p.must(p.c.call(p.session, method, arguments))
}

// eval runs an expression in the page.
func (p *page) eval(expression string) any {
	p.t.Helper()
	var answer struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.must(p.c.call(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}))(&answer)
	if e := answer.ExceptionDetails; e != nil {
		p.t.Fatalf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	return answer.Result.Value
}

// wait waits until an expression is true.
func (p *page) wait(expression string) {
	p.t.Helper()
	for end := time.Now().Add(testkit.Patience()); ; time.Sleep(20 * time.Millisecond) {
		if p.eval(expression) == true {
			return
		}
		if time.Now().After(end) {
			p.shoot("failed")
			p.t.Fatalf("not true in time: %s\non the page: %.600s", expression, p.eval("document.body.innerText"))
		}
	}
}

// painted waits until what has changed is on the screen: much is drawn with the next frame.
func (p *page) painted() {
	p.t.Helper()
	p.wait(`new Promise((ok) => requestAnimationFrame(() => requestAnimationFrame(() => ok(true))))`)
}

// text is what an element says.
func (p *page) text(selector string) string {
	p.t.Helper()
	text, _ := p.eval(fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector)).(string)
	return strings.Join(strings.Fields(text), " ")
}

// reads waits until that is something.
func (p *page) reads(selector, want string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`(document.querySelector(%q)?.innerText ?? "").split(/\s+/).filter(Boolean).join(" ") === %q`, selector, want))
}

type spot struct{ X, Y float64 }

// place is a point of an element, as parts of its size from its upper left corner. It waits for the element.
func (p *page) place(selector string, x, y float64) spot {
	p.t.Helper()
	p.painted()
	p.wait(fmt.Sprintf(`(() => { const box = document.querySelector(%q)?.getBoundingClientRect(); return box !== undefined && box.width * box.height > 0; })()`, selector))
	found, ok := p.eval(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		if (!e) return null;
		e.scrollIntoView({block: "nearest"});
		const box = e.getBoundingClientRect();
		return [box.left + box.width * %g, box.top + box.height * %g, box.width * box.height];
	})()`, selector, x, y)).([]any)
	if !ok || found[2].(float64) == 0 {
		p.t.Fatalf("there is no %s on the page, or it is hidden", selector)
	}
	return spot{found[0].(float64), found[1].(float64)}
}

// mouse sends one event of the mouse.
func (p *page) mouse(kind string, at spot, more map[string]any) {
	p.t.Helper()
	arguments := map[string]any{"type": kind, "x": at.X, "y": at.Y}
	for k, v := range more {
		arguments[k] = v
	}
	p.do("Input.dispatchMouseEvent", arguments)
}

// click presses the mouse in the middle of an element.
func (p *page) click(selector string) {
	p.t.Helper()
	p.clickAt(p.place(selector, 0.5, 0.5))
}

func (p *page) clickAt(at spot) {
	p.t.Helper()
	left := map[string]any{"button": "left", "clickCount": 1, "buttons": 1}
	p.mouse("mouseMoved", at, nil)
	p.mouse("mousePressed", at, left)
	p.mouse("mouseReleased", at, left)
}

// pick chooses a value of the labelled list.
func (p *page) pick(panel, label, value string) {
	p.t.Helper()
	if p.eval(fmt.Sprintf(`(() => {
		const list = [...document.querySelectorAll("%s .bar label")].find((l) => l.firstChild.textContent === %q)?.querySelector("select");
		if (![...list?.options ?? []].some((o) => o.value === %q)) return false;
		list.value = %[3]q;
		list.dispatchEvent(new Event("change"));
		return true;
	})()`, panel, label, value)) != true {
		p.t.Fatalf("there is no %s with a value %q", label, value)
	}
}

// drag moves the mouse from one point to another with its button held.
func (p *page) drag(from, to spot) {
	p.t.Helper()
	held := map[string]any{"button": "left", "clickCount": 1, "buttons": 1}
	p.mouse("mousePressed", from, held)
	for i := 1; i <= 5; i++ {
		share := float64(i) / 5
		p.mouse("mouseMoved", spot{from.X + (to.X-from.X)*share, from.Y + (to.Y-from.Y)*share}, held)
	}
	p.mouse("mouseReleased", to, held)
}

// keys presses keys: "Enter", "ArrowDown", or letters.
func (p *page) keys(all ...string) {
	p.t.Helper()
	for _, key := range all {
		down := map[string]any{"type": "keyDown", "key": key}
		if len([]rune(key)) == 1 {
			down["text"] = key
		}
		if key == "Enter" {
			down["text"], down["windowsVirtualKeyCode"] = "\r", 13
		}
		if key == "Tab" {
			down["windowsVirtualKeyCode"] = 9
		}
		if key == "Escape" {
			down["windowsVirtualKeyCode"] = 27
		}
		p.do("Input.dispatchKeyEvent", down)
		p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
	}
}

// shoot writes a picture of what is shown into build/report, for people to look at.
func (p *page) shoot(name string) {
	p.t.Helper()
	if os.Getenv("PROTON_SCREENSHOTS") == "" && name != "failed" {
		return
	}
	folder := filepath.Join("..", "..", "build", "report")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.shootTo(filepath.Join(folder, strings.ReplaceAll(name+".png", "/", "_")))
}

// shootTo writes a picture of what is shown.
func (p *page) shootTo(file string) {
	p.t.Helper()
	if err := os.WriteFile(file, p.picture(), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// picture is a PNG of what is shown.
func (p *page) picture() []byte {
	p.t.Helper()
	var picture struct{ Data string }
	p.must(p.c.call(p.session, "Page.captureScreenshot", map[string]any{"format": "png"}))(&picture)
	png, err := base64.StdEncoding.DecodeString(picture.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return png
}
