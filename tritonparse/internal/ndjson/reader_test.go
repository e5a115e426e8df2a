package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/testkit"
)

func packGzip(t testing.TB, text string) []byte {
	return testkit.Packed(t, strings.NewReader(text), "g")
}
func packZstd(t testing.TB, text string) []byte {
	return testkit.Packed(t, strings.NewReader(text), "z")
}

func record(i int) string { return fmt.Sprintf(`{"event_type":"launch","n":%d}`, i) }

// read returns the numbers of the records that come out, as text, and the damages.
func read(t testing.TB, file []byte) ([]string, []Damage) {
	t.Helper()
	r := NewReader(bytes.NewReader(file), int64(len(file)), "trace")
	defer r.Close()
	var texts []string
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			d, _ := r.Damages()
			return texts, d
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Index != len(texts) {
			t.Fatalf("record %d has index %d", len(texts), rec.Index)
		}
		texts = append(texts, string(rec.Text))
	}
}

// checkFill reads with Fill what Next read: the records and the damages must be the same.
func checkFill(t testing.TB, file []byte, limit int) {
	t.Helper()
	one, many := NewReader(bytes.NewReader(file), int64(len(file)), "trace"), NewReader(bytes.NewReader(file), int64(len(file)), "trace")
	defer one.Close()
	defer many.Close()
	var b Batch
	for total := 0; total < limit; {
		end := many.Fill(&b, 100)
		for _, got := range b.Records {
			want, err := one.Next()
			if err != nil {
				t.Fatalf("Fill has %q, Next %v", got.Text, err)
			}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				t.Fatalf("Fill has %+v, Next %+v", got, want)
			}
			total += len(got.Text)
		}
		if end != nil {
			if _, err := one.Next(); fmt.Sprint(err) != fmt.Sprint(end) {
				t.Fatalf("Fill ends with %v, Next with %v", end, err)
			}
			a, _ := one.Damages()
			b, _ := many.Damages()
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("Fill has damages %v, Next %v", b, a)
			}
			return
		}
	}
}

// TestForms reads five records in every framing that a writer uses.
func TestForms(t *testing.T) {
	var want []string
	forms := map[string][]byte{}
	for i := range 5 {
		line := record(i) + "\n"
		want = append(want, record(i))
		forms["plain"] = append(forms["plain"], line...)
		forms["crlf and blank lines"] = append(forms["crlf and blank lines"], "\r\n"+record(i)+"\r\n"...)
		forms["gzip members"] = append(forms["gzip members"], packGzip(t, line)...)
		forms["frames of pzstd"] = append(forms["frames of pzstd"], "\x50\x2a\x4d\x18\x04\x00\x00\x00size"...)
		forms["frames of pzstd"] = append(forms["frames of pzstd"], packZstd(t, line)...)
		forms["zstd frames"] = append(forms["zstd frames"], packZstd(t, line)...)
		forms["mixed"] = append(forms["mixed"], packGzip(t, line[:7])...)
		forms["mixed"] = append(forms["mixed"], packZstd(t, line[7:])...)
	}
	forms["whole gzip"] = packGzip(t, string(forms["plain"]))
	forms["behind a mark"] = append([]byte("\xef\xbb\xbf"), forms["plain"]...)
	forms["behind a mark, packed"] = packGzip(t, string(forms["behind a mark"]))
	forms["whole zstd, no end of line"] = packZstd(t, strings.TrimSuffix(string(forms["plain"]), "\n"))
	forms["zstd and a table behind"] = append(packZstd(t, string(forms["plain"])), "\x5e\x2a\x4d\x18\x03\x00\x00\x00abc"...)
	for name, file := range forms {
		got, damages := read(t, file)
		checkFill(t, file, 1<<20)
		if fmt.Sprint(got) != fmt.Sprint(want) || len(damages) != 0 {
			t.Errorf("%s: got %q, damages %v", name, got, damages)
		}
	}
}

// TestDamageCostsItself cuts or spoils the third of five members at every place: the others must all come out.
func TestDamageCostsItself(t *testing.T) {
	for name, pack := range map[string]func(testing.TB, string) []byte{"gzip": packGzip, "zstd": packZstd} {
		var parts [][]byte
		for i := range 5 {
			parts = append(parts, pack(t, record(i)+"\n"))
		}
		for cut := 4; cut < len(parts[2]); cut++ {
			file := bytes.Join([][]byte{parts[0], parts[1], parts[2][:cut], parts[3], parts[4]}, nil)
			checkOthers(t, fmt.Sprintf("%s cut at %d", name, cut), file)
			checkFill(t, file, 1<<20)
		}
	}
	spoilt := packGzip(t, record(2)+"\n")
	spoilt[len(spoilt)-5] ^= 0xff // of the checksum
	file := bytes.Join([][]byte{packGzip(t, record(0)+"\n"), packGzip(t, record(1)+"\n"), spoilt, packGzip(t, record(3)+"\n"), packGzip(t, record(4)+"\n")}, nil)
	checkOthers(t, "checksum", file)
}

// TestCutSkippable: a frame without text is damage like any other if it is cut, and costs nothing else.
func TestCutSkippable(t *testing.T) {
	first := packZstd(t, record(0)+"\n")
	for _, rest := range []string{"\x50\x2a\x4d\x18\x04", "\x50\x2a\x4d\x18\xff\xff\x00\x00ab"} {
		file := append(append(bytes.Clone(first), rest...), packZstd(t, record(1)+"\n")...)
		if got, damages := read(t, file); len(got) != 2 || len(damages) != 1 || damages[0].Offset != int64(len(first)) {
			t.Errorf("%q: got %v, damages %v", rest, got, damages)
		}
	}
}

func checkOthers(t *testing.T, name string, file []byte) {
	t.Helper()
	r := NewReader(bytes.NewReader(file), int64(len(file)), "trace")
	defer r.Close()
	found := map[string]bool{}
	for {
		rec, err := r.Next()
		if err != nil {
			break
		}
		found[string(rec.Text)] = true
	}
	for _, i := range []int{0, 1, 3, 4} {
		if !found[record(i)] {
			t.Fatalf("%s: record %d is lost; found %v", name, i, found)
		}
	}
	if _, n := r.Damages(); n == 0 {
		t.Errorf("%s: no damage is reported", name)
	}
}

func TestLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("too large for -short: it reads 256 MiB")
	}
	file := append([]byte(record(0)+"\n"), bytes.Repeat([]byte("x"), MaxRecord+1)...)
	file = append(file, "\n"+record(1)+"\n"...)
	r := NewReader(bytes.NewReader(file), int64(len(file)), "trace")
	var got []string
	for {
		rec, err := r.Next()
		if err != nil {
			break
		}
		got = append(got, string(rec.Text))
	}
	d, n := r.Damages()
	if len(got) != 2 || got[1] != record(1) || n != 1 || d[0].Line != 2 {
		t.Errorf("got %v, damages %v", got, d)
	}
}

func TestOpenSaysWhy(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open("no-such-file"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestLongWindow: what zstd packs with --long=27 or --ultra -22.
func TestLongWindow(t *testing.T) {
	var file bytes.Buffer
	z, err := zstd.NewWriter(&file, zstd.WithWindowSize(128<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeText(z, `{"event_type":"x"}`), z.Flush(), writeText(z, "\n{}\n"), z.Close()); err != nil {
		t.Fatal(err)
	}
	r := NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()), "x")
	defer r.Close()
	rec, err := r.Next()
	if damages, _ := r.Damages(); err != nil || string(rec.Text) != `{"event_type":"x"}` || len(damages) > 0 {
		t.Errorf("%s, %v, %v", rec.Text, err, damages)
	}
}

func writeText(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// FuzzReader looks for panics and endless loops, and that what is plain comes out line by line.
func FuzzReader(f *testing.F) {
	f.Add([]byte(record(0) + "\n" + record(1)))
	f.Add(append(packGzip(f, record(0)+"\n"), packZstd(f, record(1)+"\n")...))
	cut := packZstd(f, record(0)+"\n")
	f.Add(append(cut[:len(cut)-3], packGzip(f, record(1)+"\n")...))
	f.Fuzz(func(t *testing.T, file []byte) {
		checkFill(t, file, 1<<20)
		r := NewReader(bytes.NewReader(file), int64(len(file)), "fuzz")
		defer r.Close()
		total := 0
		for range 1000 {
			rec, err := r.Next()
			if err != nil {
				return
			}
			if len(rec.Text) == 0 || bytes.IndexByte(rec.Text, '\n') >= 0 {
				t.Fatalf("record %q", rec.Text)
			}
			if total += len(rec.Text); total > 16<<20 {
				return // a small file that unpacks to much
			}
		}
	})
}

// TestOffsets: a damage is said to be where its record begins: also that of a record longer than any buffer, and that of a
// record without an end in a member.
func TestOffsets(t *testing.T) {
	long := strings.Repeat("x", 600<<10)
	plain := "{}\n" + long + "\n"
	var packed bytes.Buffer
	packed.Write(packGzip(t, "{}\n"))
	second := int64(packed.Len())
	packed.Write(packGzip(t, "not a record"))
	for _, test := range []struct {
		file string
		want int64
	}{{plain, 3}, {packed.String(), second}} {
		r := NewReader(strings.NewReader(test.file), int64(len(test.file)), "x")
		parse := WithMembers(func(Record, []jsontext.Member) int { return 0 })
		err := Start(r, 1, func() Parse[int] { return parse }).Deliver(func(*int) error { return nil }, nil)
		if damages, n := r.Damages(); err != nil || n != 1 || damages[0].Offset != test.want {
			t.Errorf("%v, %v, want one at byte %d", damages, err, test.want)
		}
	}
}
