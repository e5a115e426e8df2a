package hatchet

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// compareWithRead reads a file in pieces that begin at the cuts, and as a whole.
func compareWithRead(t *testing.T, file []byte, cuts []int64) {
	t.Helper()
	want, wantErr := Read(bytes.NewReader(file))
	got, err := readPieces(bytes.NewReader(file), int64(len(file)), cuts)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("cut at %v: error %v, as a whole: %v\n%s", cuts, err, wantErr, file)
	}
	if err != nil {
		return
	}
	if dump(got) != dump(want) || !reflect.DeepEqual(got.Kinds, want.Kinds) || !reflect.DeepEqual(got.Info, want.Info) || !reflect.DeepEqual(got.Devices, want.Devices) {
		t.Fatalf("cut at %v: read\n%s%v\nas a whole:\n%s%v", cuts, dump(got), got, dump(want), want)
	}
}

// readInPieces cuts a file with many nodes, to which something is added, into 2 to 8 pieces.
func readInPieces(t *testing.T, add func(*profile.Profile, uint64)) {
	t.Helper()
	p := profiletest.Random(2)
	for range 200 {
		c := profiletest.Random(2).Root
		c.Name = "part"
		p.Root.Children = append(p.Root.Children, c)
	}
	add(p, 3)
	var out bytes.Buffer
	if err := Write(&out, p); err != nil {
		t.Fatal(err)
	}
	whole, err := Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(out.Bytes())
	for pieces := int64(2); pieces < 9; pieces++ {
		var at []int64
		for i := int64(1); i < pieces; i++ {
			from := r.Size() / pieces * i
			at = append(at, from+int64(nodeStart(out.Bytes()[from:])))
		}
		got, err := readAndJoin(r, r.Size(), at)
		if err != nil {
			t.Fatalf("%d pieces: %v", pieces, err)
		}
		if profiletest.Text(got) != profiletest.Text(whole) {
			t.Errorf("%d pieces read otherwise", pieces)
		}
	}
}

// nodeStarts are all places where a file may be cut.
func nodeStarts(file []byte) []int64 {
	var all []int64
	for from := 0; ; {
		at := nodeStart(file[from:])
		if at < 0 {
			return all
		}
		if from+at > 0 {
			all = append(all, int64(from+at))
		}
		from += at + 1
	}
}

// TestPiecesFit cuts files wherever a node starts, and makes sure that the pieces are used and not thrown away.
func TestPiecesFit(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.hatchet")
	if err != nil {
		t.Fatal(err)
	}
	var files [][]byte
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	r := rand.New(rand.NewSource(3))
	for range 10 {
		p := randomProfile(r)
		p.Info = profile.Info{"host": "h"}
		var pretty, compact bytes.Buffer
		if err := Write(&pretty, p); err != nil {
			t.Fatal(err)
		}
		if err := Compact(&compact, p); err != nil {
			t.Fatal(err)
		}
		files = append(files, pretty.Bytes(), compact.Bytes(), bytes.Replace(compact.Bytes(), []byte("},{}]"), []byte("}]"), 1))
	}
	fit := 0
	for _, file := range files {
		starts := nodeStarts(file)[min(1, len(nodeStarts(file))):] // the first one is the root's
		for i, a := range starts {
			compareWithRead(t, file, []int64{a})
			if i+1 < len(starts) {
				compareWithRead(t, file, []int64{a, starts[i+1]})
				compareWithRead(t, file, starts[i:])
			}
			if _, err := readAndJoin(bytes.NewReader(file), int64(len(file)), starts[i:]); err != nil {
				t.Errorf("cut at %v: %v\n%s", starts[i:], err, file)
			}
			fit++
		}
	}
	if fit < 100 {
		t.Errorf("only %d cuts; the files are too small to mean anything", fit)
	}
}

// TestWrongCuts cuts profiles where no node starts, and files that are not profiles. The result is that of Read.
func TestWrongCuts(t *testing.T) {
	whole, err := os.ReadFile("testdata/scope.hatchet")
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(1); at < int64(len(whole)); at += 7 {
		compareWithRead(t, whole, []int64{at})
		compareWithRead(t, whole, []int64{at, at + 1})
	}
	for name, file := range map[string]string{
		"cut off":              string(whole[:len(whole)/2]),
		"a list that is none":  `[{"children":[{"children":[],"frame":{"name":"a"}},{"children":[}]`,
		"a third element":      `[{"children":[{"children":[],"frame":{"name":"a"}}],"frame":{"name":"r"}},{},{"children":[]}]`,
		"a nameless parent":    `[{"children":[{"children":[],"frame":{"name":"a"}},{"children":[],"frame":{"name":"b"}}]},{}]`,
		"two documents":        `[{"children":[{"children":[],"frame":{"name":"a"}}],"frame":{"name":"r"}}][{"children":[]}]`,
		"children elsewhere":   `[{"x":[{"children":[]},{"children":[]}],"frame":{"name":"r"}},{}]`,
		"info of another kind": `[{"children":[{"children":[{"children":[],"frame":{"name":"a"}}],"frame":{"name":"b"},"info":7}],"frame":{"name":"r"}},{}]`,
		"info of a child":      `[{"children":[{"children":[{"children":[],"frame":{"name":"a"}}],"frame":{"name":"b"},"info":{"x":"y"}}],"frame":{"name":"r"},"info":{"a":"b"}},{}]`,
		"info before children": `[{"info":{"a":"b"},"children":[{"children":[],"frame":{"name":"a"}},{"children":[],"frame":{"name":"b"}}],"frame":{"name":"r"}},{}]`,
		"a device named frame": `[{"children":[{"children":[],"frame":{"name":"a"}}],"frame":{"name":"r"}},{"frame":{"0":{}}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			starts := nodeStarts([]byte(file))
			for i := range starts {
				compareWithRead(t, []byte(file), starts[i:i+1])
				compareWithRead(t, []byte(file), starts[i:])
			}
		})
	}
}

// TestDeepPieces cuts a call path that is as long as it may be, and one that is longer.
func TestDeepPieces(t *testing.T) {
	for _, depth := range []int{profile.MaxDepth, profile.MaxDepth + 1, profile.MaxDepth + 2} {
		file := "[" + strings.Repeat(`{"children":[`, depth) + strings.Repeat(`],"frame":{"name":"f"}}`, depth) + "]"
		at := int64(1 + len(`{"children":[`)*(depth/2))
		got, err := readPieces(strings.NewReader(file), int64(len(file)), []int64{at})
		want, wantErr := Read(strings.NewReader(file))
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || (got == nil) != (want == nil) {
			t.Errorf("%d frames: error %v, as a whole: %v", depth, err, wantErr)
		}
	}
}

func TestReadAtUsesPieces(t *testing.T) {
	var file bytes.Buffer
	if err := Write(&file, bigProfile(20_000)); err != nil {
		t.Fatal(err)
	}
	at := cuts(bytes.NewReader(file.Bytes()), int64(file.Len()), 4)
	if len(at) != 3 {
		t.Fatalf("%d bytes are cut at %v, want three places", file.Len(), at)
	}
	if _, err := readAndJoin(bytes.NewReader(file.Bytes()), int64(file.Len()), at); err != nil {
		t.Errorf("cut at %v: %v", at, err)
	}
	compareWithRead(t, file.Bytes(), at)
}

func BenchmarkReadAt30k(b *testing.B) {
	benchmarkReading(b, func(file []byte) error {
		_, err := ReadAt(bytes.NewReader(file), int64(len(file)))
		return err
	})
}
