package collapsed

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
	"github.com/goproton/goproton/profile/internal/union"
)

// sizes is what folded stacks hold of a metric, computed without this package: call paths with their sums, in order.
func sizes(p *profile.Profile, metric string) string {
	t := union.NewTree()
	union.Each(p.Root, func(path []string, n *profile.Node) {
		if v, _ := n.Metric(metric); v.Int() > 0 {
			at := t.Root
			for _, name := range path {
				at = t.Child(at, name)
			}
			union.Add(at, Metric, v)
		}
	})
	return profiletest.Text(t.Profile(false))
}

func TestRoundTrip(t *testing.T) {
	written := 0
	for seed := range uint64(500) {
		p := profiletest.Random(seed)
		var file bytes.Buffer
		if err := WriteMetric(&file, p, "time (ns)"); err != nil {
			continue // no such metric in this one
		}
		written++
		back, err := Read(iotest.HalfReader(bytes.NewReader(file.Bytes())))
		if err != nil {
			t.Fatalf("profile %d: %v\n%s", seed, err, file.String())
		}
		if got, want := profiletest.Text(back), sizes(p, "time (ns)"); got != want {
			t.Fatalf("profile %d:\n%s\nread back as\n%s\nwant\n%s", seed, file.String(), got, want)
		}
		if !Sniff(file.Bytes()[:min(file.Len(), 4096)]) && strings.Contains(file.String(), ";") {
			t.Errorf("profile %d is not known by its head:\n%s", seed, file.String())
		}
	}
	if written < 100 {
		t.Errorf("only %d of 500 profiles could be written", written)
	}
}

func TestEscapes(t *testing.T) {
	for frame, want := range map[string]string{
		"plain": "plain", "a;b": "a%3Bb", "100%": "100%", "%3B": "%253B", "%3b": "%3b", "%41": "%41", "%25": "%2525",
		"two\nlines\r": "two%0Alines%0D", "é": "é", "": "", "%": "%", "a%0": "a%0", "\x7f\x00": "%7F%00",
	} {
		if got := escape(frame); got != want {
			t.Errorf("%q is written as %q, want %q", frame, got, want)
		}
		if got := unescape(want); got != frame {
			t.Errorf("%q is read as %q, want %q", want, got, frame)
		}
	}
}

func TestReadOfOtherTools(t *testing.T) {
	p, err := Read(strings.NewReader("\r\n[unknown];main 3\r\nmain;f 2.5\nmain;f 1\n\nmain 4"))
	if err != nil {
		t.Fatal(err)
	}
	want := `"ROOT"
  "[unknown]"
    "main" "samples"=3
  "main" "samples"=4
    "f" "samples"=3.5.
kind "samples" 1
`
	if got := profiletest.Text(p); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOtherLines: comments are skipped, and what is neither a stack nor a comment is counted.
func TestOtherLines(t *testing.T) {
	for in, want := range map[string]string{
		"# stacks of 1\na;b 1\n#0 main;c 2\n": "",
		"a;b 1\n\nb;c x\na;b 2\nb\n":          `2 lines are not stacks and are left out: line 3: expected a number at the end of the line, found "x"`,
		"a;b 1\na;b -1\n":                     `1 line is not a stack and is left out: line 2: expected a number at the end of the line, found "-1"`,
	} {
		p, err := Read(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		p.Root.Walk(func(n *profile.Node, _ int) bool {
			v, _ := n.Metric(Metric)
			total += v.Int()
			return true
		})
		if got := p.Info[profile.InfoNote]; got != want || total != map[bool]int64{true: 3, false: 1}[strings.Contains(in, " 2")] {
			t.Errorf("%q: a sum of %d, note %q, want %q", in, total, got, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":             "byte 0: the file holds no stacks",
		"a;b":          "byte 0: expected frames, a space and a number",
		"# x\nb;c x\n": `byte 4: expected a number at the end of the line, found "x"`,
		"# x 1\n":      "byte 0: the file holds no stacks",
		"a -1":         `found "-1"`,
		"a NaN":        `found "NaN"`,
		"a 1e3":        `found "1e3"`,
		"a 1.2.3":      `found "1.2.3"`,
		strings.Repeat(";", profile.MaxDepth) + " 1": "frames; 10000 are the most",
	} {
		var bad *profile.FormatError
		if _, err := Read(strings.NewReader(in)); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want …%s…", in, err, want)
		}
	}
	boom := errors.New("boom")
	if _, err := Read(io.MultiReader(strings.NewReader("a 1\n"), iotest.ErrReader(boom))); !errors.Is(err, boom) {
		t.Errorf("error %v, want the stream's own", err)
	}
}

// A comment is not a stack, also if it ends in a number; a frame may begin with its sign.
func TestComments(t *testing.T) {
	p, err := Read(strings.NewReader("# austin: 3.3.0\n// by hand\na;b 1\n#<Class:0x1>#f;b 2\n# of a;b 4\n# duration: 8\n"))
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		v, _ := n.Metric(Metric)
		f, _ := v.Float()
		total += f
		return true
	})
	if total != 7 || len(p.Root.Children) != 3 {
		t.Errorf("%v samples below %d frames, want 7 below 3", total, len(p.Root.Children))
	}
}

func TestWhichMetric(t *testing.T) {
	n := &profile.Node{Name: "k"}
	n.Set("bytes", profile.IntValue(5))
	n.Set("cpu_time (ns)", profile.FloatValue(1.6))
	n.Set("low", profile.IntValue(-1))
	n.Set("id", profile.IntValue(7))
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{n, {Name: "bare"}}}, Kinds: profile.Kinds{"id": profile.Property}}
	for metric, want := range map[string]string{"": "ROOT;k 2\n", "bytes": "ROOT;k 5\n", "CPU_Time": "ROOT;k 2\n", "cpu_time (ns)": "ROOT;k 2\n"} {
		var out strings.Builder
		if err := WriteMetric(&out, p, metric); err != nil || out.String() != want {
			t.Errorf("metric %q is written as %q, %v; want %q", metric, out.String(), err, want)
		}
	}
	if err := WriteMetric(io.Discard, p, "id"); err == nil || !strings.Contains(err.Error(), "it has cpu_time (ns), bytes, low") {
		t.Errorf("a property: error %v", err)
	}
	if err := WriteMetric(io.Discard, p, "low"); err == nil || !strings.Contains(err.Error(), "no frame has more than 0 of low") {
		t.Errorf("nothing above zero: error %v", err)
	}
	if err := Write(io.Discard, &profile.Profile{Root: &profile.Node{}}); err == nil || !strings.Contains(err.Error(), "has none") {
		t.Errorf("no metrics: error %v", err)
	}
	got := strings.Join(Loses(p, "low"), "; ")
	want := "the name of the metric (low); all metrics but low (cpu_time (ns), bytes); 1 value of low below zero or no number; 2 leaves without a value of low"
	if got != want {
		t.Errorf("loses %s\nwant %s", got, want)
	}
}

func TestSniff(t *testing.T) {
	for _, head := range []string{"a 1\na;b 2", "[unknown];main 3\n", "\n\na b;c 4\n\n", strings.Repeat("a;", 3000), "# austin: 3.3.0\n# mode: wall\na;b 1\n# duration: 7\n", "// by hand\na;b 1", "# x;y 1", "{anonymous}::f;g 1\n",
		"a;b 1\na;c 1\na;d 1\na 2\nmore\n"} {
		if !Sniff([]byte(head)[:min(len(head), 4096)]) {
			t.Errorf("%.40q is not known", head)
		}
	}
	for _, head := range []string{"", "a;b", "a 1", "a;b 1\nmore", "#a;b\n", "# a;b\nc 1", "# a;b", "12:00; x 1\n12:01; y\n", "[1", "[{'frame': 12", `{"a": 12`, "\n[\n    {\n", "\n\x0b\x08\x01 1\n", "\x92\x83 1", "a 1x", strings.Repeat("a", 5000)} {
		if Sniff([]byte(head)[:min(len(head), 4096)]) {
			t.Errorf("%.40q is taken for folded stacks", head)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("ROOT;a;b 3\nROOT;a 4\n"))
	f.Add([]byte("[unknown];x%3By%25 1.5\r\n; 2\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := Read(bytes.NewReader(in))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := Write(&out, p); err != nil {
			return // all numbers are zero
		}
		again, err := Read(bytes.NewReader(out.Bytes()))
		if out.Len() == 0 {
			return // nothing but what rounds to zero
		}
		if err != nil {
			t.Fatalf("what we wrote cannot be read: %v\n%s", err, out.String())
		}
		var second bytes.Buffer
		if err := Write(&second, again); err != nil || second.String() != out.String() {
			t.Fatalf("round trip (error %v):\n%s\nbecame\n%s", err, out.String(), second.String())
		}
	})
}
