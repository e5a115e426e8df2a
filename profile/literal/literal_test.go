package literal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/internal/profiletest"
	"github.com/goproton/goproton/profile/internal/tree"
)

func source(t testing.TB, p *profile.Profile) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(500) {
		first := source(t, profiletest.Random(seed))
		back, err := Read(strings.NewReader(first))
		if err != nil {
			t.Fatalf("profile %d: %v\n%s", seed, err, first)
		}
		want := profiletest.Random(seed)
		profiletest.Reduce(want, profiletest.Valid, profiletest.ValidText)
		if got, want := profiletest.Text(back), profiletest.Text(want); got != want {
			t.Fatalf("profile %d: read back\n%s\nwant\n%s\nfrom\n%s", seed, got, want, first)
		}
		if again := source(t, back); again != first {
			t.Fatalf("profile %d: a file that is read and written changes:\n%s\nbecame\n%s", seed, first, again)
		}
		if !Sniff([]byte(first)[:min(len(first), 20)]) {
			t.Errorf("profile %d is not known by its head", seed)
		}
	}
}

func TestWrite(t *testing.T) {
	p, err := hatchet.Read(strings.NewReader(testkit.Read(t, "../hatchet/testdata/scope.hatchet")))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{'frame': {'name': 'ROOT', 'type': 'function'}, 'metrics': {'bytes': 0, 'count': 0, 'flops32': 0, 'time (ns)': 0, 'tokens': 0}, ` +
		`'devices': {'CUDA': {'0': {'arch': '90', 'bus_width': 6016, 'clock_rate': 1980000, 'memory_clock_rate': 3201000, 'num_sms': 132}}}, 'children': [
 {'frame': {'name': 'outer', 'type': 'function'}, 'metrics': {'cpu_time (ns)': 50411572, 'tokens': 10}, 'children': [
  {'frame': {'name': 'add_md', 'type': 'function'}, 'metrics': {'bytes': 49152, 'count': 1, 'device_id': '0', 'device_type': 'CUDA', 'flops32': 4096.0, 'time (ns)': 864}, 'children': []},
  {'frame': {'name': 'plain', 'type': 'function'}, 'metrics': {'count': 2, 'device_id': '0', 'device_type': 'CUDA', 'time (ns)': 1760}, 'children': []}]}]}]
`
	if got := source(t, p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReadAccepts(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"JSON's spelling":  {`[{"frame":{"name":"r","type":"x"},"metrics":{"a":null,"b":true,"c":1e3},"children":[]}]`, `"r" "a"=NaN. "b"=1 "c"=1000.`},
		"Python's":         {`[{'frame':{'name':'r'},'metrics':{'a':None,'b':True,'c':False,'d':-inf,'e':1_000,'f':0x1f,'g':+2.}},]`, `"r" "a"=NaN. "b"=1 "d"=-Inf. "e"=1000 "f"=31 "g"=2.`},
		"numpy's":          {`[{'frame':{'name':'r'},'metrics':{'a':np.float64(1.5),'b':np.int64(-3),'c':float('nan'),'_hatchet_nid':7}}]`, `"r" "a"=1.5. "b"=-3 "c"=NaN.`},
		"tuples, comments": {"( # a tree\n{'frame':{'name':'r'},'metrics':{'a':(1,2.5),'b':()},'children':()},)", `"r" "a"=[1 2.5]. "b"=[]`},
		"strings":          {`[{'frame':{'name':u"a" 'b' r'\n' '''c'"''' "\x41\101\u00e9\U0001f600\ud83d\ude00\q\/"},'metrics':{}}]`, `"ab\\nc'\"AAé😀😀\\q/"`},
		"unknown keys":     {`[{'attributes':{'x':[{'y':(1,)}]},'name':'other','frame':{'name':'r','file':{}}}]`, `"r"`},
		"name of the node": {`[{'frame':{'type':'x'},'name':'r','metrics':{}}]`, `"r"`},
		"several roots":    {`[{'frame':{'name':'a'},'metrics':{'t':1}},{'frame':{'name':'b'},'metrics':{'u':2}}]`, "\"ROOT\"\n  \"a\" \"t\"=1\n  \"b\" \"u\"=2\nkind \"t\" 1\nkind \"u\" 1"},
		"sums and times":   {`[{'frame':{'name':'a'},'metrics':{'t':1,'t (inc)':3},'children':[{'frame':{'name':'b'},'metrics':{'t':2,'t (inc)':2}}]}]`, "\"a\" \"t\"=1\n  \"b\" \"t\"=2\nkind \"t\" 1"},
		"sums alone":       {`[{'frame':{'name':'a'},'metrics':{'t (inc)':30.5},'children':[{'frame':{'name':'b'},'metrics':{'t (inc)':11}},{'frame':{'name':'c'},'metrics':{'t (inc)':None}}]}]`, "\"a\" \"t\"=19.5.\n  \"b\" \"t\"=11\n  \"c\" \"t\"=NaN.\nkind \"t\" 1"},
		"sum at the root":  {`[{'frame':{'name':'a'},'metrics':{'t (inc)':2},'children':[{'frame':{'name':'b'},'metrics':{'t':2}}]}]`, "\"a\"\n  \"b\" \"t\"=2\nkind \"t\" 1"},
		"said twice": {`[{'frame':{'name':'a'},'metrics':{'t':1},'children':[{'frame':{'name':'b'},'metrics':{'t':5}},{'frame':{'name':'b'},'duplicate':True,'metrics':{'t':5}},{'frame':{'name':'c'},'duplicate':False,'metrics':{'t':2}}]}]`,
			"\"a\" \"t\"=1\n  \"b\" \"t\"=5\n  \"b\"\n  \"c\" \"t\"=2\nkind \"t\" 1\n[]\ninfo \"note\"=\"1 frame stands again below a further caller, without values: these count below the first\""},
		"numbered twice": {`[{'frame':{'name':'a'},'metrics':{'t':1,'_hatchet_nid':-1},'children':[{'frame':{'name':'b'},'metrics':{'t':5,'_hatchet_nid':3}},{'frame':{'name':'b'},'metrics':{'t':5,'_hatchet_nid':3}},{'frame':{'name':'c'},'metrics':{'t':2,'_hatchet_nid':-1}}]}]`,
			"\"a\" \"t\"=1\n  \"b\" \"t\"=5\n  \"b\"\n  \"c\" \"t\"=2\nkind \"t\" 1\n[]\ninfo \"note\"=\"1 frame stands again below a further caller, without values: these count below the first\""},
		"statements":     {`[{'frame':{'file':'/src/a.c','line':12,'type':'statement'},'metrics':{'t':1},'children':[{'name':'x','frame':{'line':12,'file':'b.c'},'metrics':{}},{'frame':{'file':'c.c','line':None},'metrics':{}}]}]`, "\"/src/a.c:12\" \"t\"=1\n  \"x\"\n  \"c.c\"\nkind \"t\" 1"},
		"kinds are said": {`[{'kinds':{'t (inc)':'inclusive'},'frame':{'name':'a'},'metrics':{'t (inc)':3,'t':1}}]`, "\"a\" \"t\"=1 \"t (inc)\"=3\nkind"},
	}
	for name, test := range tests {
		p, err := Read(strings.NewReader(test.in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := profiletest.Text(p); !strings.HasPrefix(got, test.want+"\n") && !strings.HasPrefix(got, test.want+" ") {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	tests := map[string]struct {
		in   string
		at   int64
		want string
	}{
		"empty":            {"", 0, "cut off or empty"},
		"no tree":          {"[]", 0, "no tree"},
		"no list":          {"{'frame':1}", 0, "expected '['"},
		"cut off":          {"[{'frame'", 9, "the file ends"},
		"cut in a string":  {"[{'fra", 2, "never ends"},
		"two lines":        {"[{'fra\nme'", 2, "does not end on its line"},
		"cut in an escape": {`[{'fra\x1`, 6, "cut off"},
		"bad escape":       {`[{'\xzz'}]`, 3, "hexadecimal"},
		"no frame":         {"[{'metrics':{}}]", 1, "without a frame name"},
		"code":             {"[{'frame':{'name':'r'},'metrics':{'a':__import__('os')}}]", 49, "in quotes"},
		"calls":            {"[{'frame':{'name':'r'},'metrics':{'a':" + strings.Repeat("f(", 100_000), 41, "expected a number"},
		"bad number":       {"[{'metrics':{'a':1.2.3}}]", 17, `"1.2.3"`},
		"leading zero":     {"[{'metrics':{'a':--1}}]", 17, `"--1"`},
		"dict as metric":   {"[{'metrics':{'a':{}}}]", 17, "found '{'"},
		"trailing text":    {"[{'frame':{'name':'r'}}] x", 25, "the end of the file"},
		"no comma":         {"[{'frame':{'name':'r'} 'metrics':{}}]", 23, "',' or '}'"},
		"info":             {"[{'info':{'a':1}}]", 14, "expected a string"},
		"kinds":            {"[{'kinds':{'a':'b'}}]", 15, "not a kind of metric"},
		"times":            {"[{'times':{'count':1}}]", 10, "count 0 values and count says 1"},
		"bucket":           {"[{'times':{'buckets':[[129,1]]}}]", 22, "begins at 129"},
		"bucket of three":  {"[{'times':{'buckets':[[1,1,1]]}}]", 22, "not 3"},
	}
	for name, test := range tests {
		p, err := Read(strings.NewReader(test.in))
		var bad *profile.FormatError
		if !errors.As(err, &bad) {
			t.Errorf("%s: read %+v, error %v", name, p, err)
		} else if bad.Offset != test.at || !strings.Contains(bad.Reason, test.want) {
			t.Errorf("%s: got %v\nwant byte %d: …%s…", name, bad, test.at, test.want)
		}
	}
	boom := errors.New("boom")
	if _, err := Read(io.MultiReader(strings.NewReader("[{"), iotest.ErrReader(boom))); !errors.Is(err, boom) {
		t.Errorf("error %v, want the stream's own", err)
	}
}

func TestEveryPrefixIsAnError(t *testing.T) {
	whole := strings.TrimSpace(source(t, profiletest.Random(3)))
	for n := range whole {
		if _, err := Read(strings.NewReader(whole[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes were read as a whole file", n, len(whole))
		}
	}
}

func TestDeepFiles(t *testing.T) {
	node := "{'frame':{'name':'f'},'children':["
	nest := func(n int) string { return "[" + strings.Repeat(node, n) + strings.Repeat("]}", n) + "]" }
	if _, err := Read(strings.NewReader(nest(profile.MaxDepth))); err != nil {
		t.Errorf("%d frames: %v", profile.MaxDepth, err)
	}
	for name, in := range map[string]string{
		"frames": nest(profile.MaxDepth + 2), "lists": "[{'x':" + strings.Repeat("[", 1_000_000), "dicts": "[{'x':" + strings.Repeat("{'a':", 1_000_000),
	} {
		if _, err := Read(strings.NewReader(in)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// chain is a call path of n frames.
func chain(n int) *profile.Profile {
	root := &profile.Node{Name: "ROOT"}
	for at := root; n > 1; n-- {
		c := &profile.Node{Name: "f"}
		c.Set("x", profile.IntValue(int64(n)))
		at.Children = append(at.Children, c)
		at = c
	}
	return &profile.Profile{Root: root, Kinds: profile.Kinds{"x": profile.Inclusive}}
}

type row struct {
	depth  int
	name   string
	values map[string]string
}

func (r *row) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&r.depth, &r.name, &r.values})
}

// TestHatchetReadsIt gives literals to Python and llnl-hatchet, and reads what hatchet makes of them.
func TestHatchetReadsIt(t *testing.T) {
	var input [][]byte
	var profiles []*profile.Profile
	for seed := range uint64(25) {
		p := profiletest.Random(seed)
		profiletest.Reduce(p, profiletest.Valid, func(name string, v profile.Value) (profile.Value, bool) {
			// hatchet takes "(inc)" for its own sums, to_literal wants numbers, and neither adds up beyond 64 bits.
			_, number := v.Float()
			if v.Type() == profile.Int {
				v = profile.IntValue(v.Int() % 1_000_000)
			}
			return v, number && !strings.HasSuffix(name, tree.InclusiveMark)
		})
		unlike(p.Root)
		if len(p.Root.Metrics) == 0 {
			p.Root.Set("count", profile.IntValue(0)) // a tree without any metric has no rows for to_literal
		}
		profiles = append(profiles, p)
	}
	deep := chain(pythonDepth)
	unlike(deep.Root)
	profiles = append(profiles, deep)
	for _, p := range profiles {
		input = append(input, []byte(source(t, p)))
	}
	var answers []struct {
		Rows  []row
		Again string
	}
	askHatchet(t, input, &answers)
	for i, p := range profiles {
		var want []string
		p.Root.Walk(func(n *profile.Node, depth int) bool {
			want = append(want, fmt.Sprintf("%d %q", depth, n.Name))
			return true
		})
		var got []string
		for _, r := range answers[i].Rows {
			got = append(got, fmt.Sprintf("%d %q", r.depth, r.name))
		}
		if slices.Sort(got); !slices.Equal(got, sorted(want)) {
			t.Fatalf("profile %d: hatchet has rows\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		back, err := Read(strings.NewReader(answers[i].Again))
		if err != nil {
			t.Fatalf("profile %d: hatchet's own literal: %v\n%s", i, err, answers[i].Again)
		}
		compareSums(t, i, back, p)
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// unlike gives siblings names that hatchet keeps apart.
func unlike(root *profile.Node) {
	number := 0
	root.Walk(func(n *profile.Node, _ int) bool {
		number++
		n.Name = fmt.Sprintf("%s#%d", n.Name, number)
		return true
	})
}

// compareSums compares the metrics of the root that to_literal keeps, node by node. It writes 0 for NaN and infinity.
func compareSums(t *testing.T, i int, back, p *profile.Profile) {
	t.Helper()
	nodes := map[string]*profile.Node{}
	back.Root.Walk(func(n *profile.Node, _ int) bool { nodes[n.Name] = n; return true })
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, m := range n.Metrics {
			want, _ := m.Value.Float()
			if _, atRoot := back.Root.Metric(m.Name); !atRoot || math.IsNaN(want) || math.IsInf(want, 0) {
				continue
			}
			v, _ := nodes[n.Name].Metric(m.Name)
			if got, _ := v.Float(); got != want {
				t.Errorf("profile %d: %q of %q came back from hatchet as %v, want %v", i, m.Name, n.Name, got, want)
			}
		}
		return true
	})
}

func askHatchet(t *testing.T, literals [][]byte, answers any) {
	t.Helper()
	stdin, err := json.Marshal(literals)
	if err != nil {
		t.Fatal(err)
	}
	out := testkit.Python(t, "", "profile/literal/testdata/hatchet_literal.py", stdin)
	if err := json.Unmarshal(out, answers); err != nil {
		t.Fatal(err)
	}
}

func TestLosesReadability(t *testing.T) {
	if got := Loses(chain(pythonDepth)); got != nil {
		t.Errorf("%d frames lose %q", pythonDepth, got)
	}
	if got := Loses(chain(pythonDepth + 1)); len(got) != 1 || !strings.Contains(got[0], "up to 99 frames") {
		t.Errorf("%d frames lose %q", pythonDepth+1, got)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range profiletest.Small {
		f.Add([]byte(source(f, profiletest.Random(seed))))
	}
	f.Add([]byte(`[{"frame":{"name":u"\ud83d\ude00" r'\x'},"metrics":{"a (inc)":[1,2.5e-3],"b":np.float64(None),"c":NaN}},{'frame':{'name':'''x'''}}] # end`))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := Read(bytes.NewReader(in))
		if err != nil {
			var bad *profile.FormatError
			if !errors.As(err, &bad) || bad.Offset > int64(len(in)) {
				t.Fatalf("error %v", err)
			}
			return
		}
		text := source(t, p)
		again, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatalf("what we wrote cannot be read: %v\n%s", err, text)
		}
		if got, want := profiletest.Text(again), profiletest.Text(p); got != want {
			t.Fatalf("round trip:\n%s\nbecame\n%s\nby\n%s", want, got, text)
		}
	})
}
