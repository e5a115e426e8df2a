package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/export/exporttest"
)

var all = []Column{
	{Name: "text", Kind: Text}, {Name: "int", Kind: Int}, {Name: "float", Kind: Float}, {Name: "time", Kind: Time},
	{Name: "texts", Kind: Text, Shape: List}, {Name: "labels", Kind: Text, Shape: Map}, {Name: "amounts", Kind: Float, Shape: Map},
}

// add writes a row of random values, and returns it as a reader prints it.
func add(w *Writer, r *rand.Rand, words int) exporttest.ParquetRow {
	word := func() string { return fmt.Sprintf("word %d é", r.IntN(words)) }
	want := exporttest.ParquetRow{}
	one := func(name string, set func() any) {
		want[name] = []any{nil}
		if r.IntN(4) > 0 {
			want[name] = []any{set()}
		}
	}
	one("text", func() any { v := word(); w.Text(0, v); return v })
	one("int", func() any { v := int64(r.Uint64()) >> r.IntN(64); w.Int(1, v); return fmt.Sprint(v) })
	one("float", func() any { v := r.NormFloat64(); w.Float(2, v); return v })
	one("time", func() any { v := r.Int64(); w.Int(3, v); return fmt.Sprint(v) })
	many := func(n int, names []string, set func() []any) {
		for _, name := range names {
			want[name] = nil
		}
		for range n {
			for i, v := range set() {
				want[names[i]] = append(want[names[i]], v)
			}
		}
		if n == 0 {
			for _, name := range names {
				want[name] = []any{nil}
			}
		}
	}
	list := []string{}
	many(r.IntN(5), []string{"texts.list.element"}, func() []any { v := word(); list = append(list, v); return []any{v} })
	w.Texts(4, list)
	many(r.IntN(3), []string{"labels.key_value.key", "labels.key_value.value"}, func() []any {
		k, v := word(), word()
		w.Pair(5, k, v)
		return []any{k, v}
	})
	many(r.IntN(3), []string{"amounts.key_value.key", "amounts.key_value.value"}, func() []any {
		k, v := word(), r.NormFloat64()
		w.Amount(6, k, v)
		return []any{k, v}
	})
	w.EndRow()
	return want
}

// read reads a file with parquet-go.
func read(t *testing.T, file []byte) (exporttest.ParquetFile, []exporttest.ParquetRow) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.parquet")
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	return exporttest.ReadParquet(t, path)
}

// Random rows come back as they were, of few words and of many, of no rows and of several row groups.
func TestRoundTrip(t *testing.T) {
	for _, c := range []struct{ rows, words, group int }{{0, 1, 0}, {1, 1, 0}, {500, 3, 0}, {3000, 1000, 0}, {700, 20, 99}} {
		t.Run(fmt.Sprintf("%d rows of %d words", c.rows, c.words), func(t *testing.T) {
			var file bytes.Buffer
			w := NewWriter(&file, all, [2]string{"about", "a test"})
			r := rand.New(rand.NewPCG(uint64(c.rows), uint64(c.words)))
			var want []exporttest.ParquetRow
			for i := range c.rows {
				want = append(want, add(w, r, c.words))
				if c.group > 0 && i%c.group == 0 {
					w.flush()
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			head, got := read(t, file.Bytes())
			if head.Rows != c.rows || len(got) != c.rows || !maps.Equal(head.Facts, map[string]string{"about": "a test"}) {
				t.Fatalf("%d rows are read, the file says %d, facts %v", len(got), head.Rows, head.Facts)
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("row %d is\n%v, want\n%v", i, got[i], want[i])
				}
			}
		})
	}
}

func TestSchema(t *testing.T) {
	var file bytes.Buffer
	if err := NewWriter(&file, all).Close(); err != nil {
		t.Fatal(err)
	}
	head, _ := read(t, file.Bytes())
	for _, want := range []string{
		"optional binary text (STRING);", "optional int64 int (INT(64,true));", "optional double float;",
		"optional int64 time (TIMESTAMP(isAdjustedToUTC=true,unit=NANOS));", "required group texts (LIST) {", "required group amounts (MAP) {",
	} {
		if !strings.Contains(head.Schema, want) {
			t.Errorf("the schema lacks %q:\n%s", want, head.Schema)
		}
	}
}

// A row group is written when it has many rows, so that memory does not grow with the file.
func TestRowGroups(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, []Column{{Name: "int", Kind: Int}})
	for i := range 2*mostRows + 1 {
		w.Int(0, int64(i))
		w.EndRow()
		if len(w.leaves[0].numbers) > mostRows {
			t.Fatalf("%d values are kept", len(w.leaves[0].numbers))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(w.groups) != 3 || w.groups[1].rows != mostRows || w.groups[1].chunks[0].least != mostRows || w.groups[1].chunks[0].most != 2*mostRows-1 {
		t.Errorf("groups %+v", w.groups)
	}
	if _, rows := read(t, file.Bytes()); len(rows) != 2*mostRows+1 || rows[mostRows]["int"][0] != fmt.Sprint(mostRows) {
		t.Errorf("%d rows", len(rows))
	}
}

type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(b), nil
}

// The first error of the file is the one that Close returns.
func TestFullDisk(t *testing.T) {
	for room := range 60 {
		w := NewWriter(&full{room}, []Column{{Name: "int", Kind: Int}})
		w.Int(0, 1)
		w.EndRow()
		if err := w.Close(); err == nil || err.Error() != "write rows: the disk is full" {
			t.Fatalf("with room for %d bytes: %v", room, err)
		}
	}
}

// hybrid reads what appendHybrid writes, by the text of the specification: runs of 8 and more that are not multiples of 8, too.
func hybrid(b []byte, width int) (list []uint32) {
	for len(b) > 0 {
		head, n := binary.Uvarint(b)
		b = b[n:]
		if head&1 == 0 {
			v := uint32(0)
			for i := range (width + 7) / 8 {
				v |= uint32(b[i]) << (8 * i)
			}
			b = b[(width+7)/8:]
			list = append(list, slices.Repeat([]uint32{v}, int(head>>1))...)
			continue
		}
		for at := range int(head>>1) * 8 {
			v := uint32(0)
			for bit := range width {
				from := at*width + bit
				v |= uint32(b[from/8]>>(from%8)&1) << bit
			}
			list = append(list, v)
		}
		b = b[int(head>>1)*width:]
	}
	return list
}

func TestHybrid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= 32; width++ {
		for range 50 {
			var list []uint32
			for len(list) < r.IntN(200) {
				v := uint32(r.Uint64() & (1<<width - 1))
				list = append(list, slices.Repeat([]uint32{v}, 1+r.IntN(1+r.IntN(30)))...)
			}
			got := hybrid(appendHybrid(nil, list, width), width)
			if len(got) < len(list) || len(got) >= len(list)+8 || !slices.Equal(got[:len(list)], list) {
				t.Fatalf("width %d: %v is read as %v", width, list, got)
			}
		}
	}
}

// Numbers of each kind keep every bit.
func TestExtremes(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, all)
	for _, v := range []int64{math.MinInt64, math.MaxInt64, 0, -1} {
		w.Int(1, v)
		w.Int(3, v)
		w.Text(0, "")
		w.EndRow()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, rows := read(t, file.Bytes())
	for i, want := range []string{"-9223372036854775808", "9223372036854775807", "0", "-1"} {
		if rows[i]["int"][0] != want || rows[i]["time"][0] != want || rows[i]["text"][0] != "" {
			t.Errorf("row %d is %v", i, rows[i])
		}
	}
}

// Texts that are not UTF-8, as paths of files may be, are written as UTF-8, because readers refuse a file for one of them.
func TestTextIsUTF8(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, all)
	for _, text := range []string{"a\xff", "b", "a\xff"} {
		w.Text(0, text)
		w.Texts(4, []string{text})
		w.EndRow()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, rows := read(t, file.Bytes())
	for i, want := range []string{"a\uFFFD", "b", "a\uFFFD"} {
		if rows[i]["text"][0] != want || rows[i]["texts.list.element"][0] != want {
			t.Errorf("row %d is %v", i, rows[i])
		}
	}
}

// Each page is a frame of zstd, that of a dictionary without words too: some readers unpack no bytes at all as an error.
func TestEmptyPages(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, []Column{{Name: "text", Kind: Text}})
	w.EndRow()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(file.Bytes(), []byte{0x28, 0xb5, 0x2f, 0xfd}); n != 2 {
		t.Errorf("%d frames of zstd for a dictionary and a page", n)
	}
	if _, rows := read(t, file.Bytes()); len(rows) != 1 || rows[0]["text"][0] != nil {
		t.Errorf("rows %v", rows)
	}
}

// BenchmarkRows writes rows like those of a profile.
func BenchmarkRows(b *testing.B) {
	w := NewWriter(&bytes.Buffer{}, all)
	path := []string{"train", "step", "forward", "layer", "attention", "kernel"}
	for i := 0; b.Loop(); i++ {
		path[3] = fmt.Sprint("layer", i%100)
		w.Text(0, path[5])
		w.Int(1, int64(i))
		w.Texts(4, path)
		w.EndRow()
	}
}
