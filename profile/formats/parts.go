package formats

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// A session that advances phases writes one file per phase: name.part_0.hatchet, name.part_1.hatchet …

const partMark = ".part_"

// part is the name of a part file taken apart.
type part struct {
	path   string
	whole  string // what the name would be without its part: "dir/run.hatchet"
	number int
}

func parsePart(path string) (p part, ok bool) {
	f, stem, _ := splitPath(path)
	if f == nil {
		return part{}, false
	}
	at := strings.LastIndex(stem, partMark)
	if at <= strings.LastIndexByte(stem, filepath.Separator)+1 {
		return part{}, false
	}
	number, err := strconv.Atoi(stem[at+len(partMark):])
	if err != nil || number < 0 || strconv.Itoa(number) != stem[at+len(partMark):] {
		return part{}, false
	}
	plain, _ := cutCompression(path)
	return part{path: path, whole: stem[:at] + plain[len(stem):], number: number}, true
}

// partsOf finds the parts of a file that does not exist, in their order. A part may be packed.
func partsOf(path string) []string {
	want, _ := cutCompression(path)
	if f, _, _ := splitPath(path); f == nil {
		return nil
	}
	dir := filepath.Dir(want)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var parts []part
	for _, e := range entries {
		if p, ok := parsePart(e.Name()); ok && !e.IsDir() && p.whole == filepath.Base(want) {
			parts = append(parts, part{path: filepath.Join(dir, e.Name()), number: p.number})
		}
	}
	return paths(parts)
}

// paths sorts parts by number. Where one is there packed and plain, the first by name counts.
func paths(parts []part) []string {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(a.number-b.number, cmp.Compare(a.path, b.path)) })
	parts = slices.CompactFunc(parts, func(a, b part) bool { return a.number == b.number })
	var list []string
	for _, p := range parts {
		list = append(list, p.path)
	}
	return list
}

// SortParts puts the names of part files in the order of their numbers. The error names the first that is not
// a part, or not one of the same profile as the others.
func SortParts(files []string) ([]string, error) {
	var parts []part
	for _, file := range files {
		p, ok := parsePart(file)
		if !ok {
			return nil, fmt.Errorf("%s is not a part of a profile (name%s0.hatchet, name%s1.hatchet …); to merge several runs use proton merge", file, partMark, partMark)
		}
		if len(parts) > 0 && p.whole != parts[0].whole {
			return nil, fmt.Errorf("%s and %s are parts of different profiles; to merge several runs use proton merge", parts[0].path, file)
		}
		parts = append(parts, p)
	}
	sorted := paths(parts)
	if len(sorted) != len(files) {
		return nil, fmt.Errorf("a part of %s is given twice", parts[0].whole)
	}
	return sorted, nil
}

// ReadParts reads files as one profile, in their order; f as in ReadFileAs. No more than two are in memory at a
// time.
func ReadParts(files []string, f *Format) (*profile.Profile, error) {
	var sum *profile.Profile
	for _, file := range files {
		p, err := ReadFileAs(file, f)
		if err != nil {
			return nil, err
		}
		if sum == nil {
			sum = p
		} else if err := join(sum, p); err != nil {
			return nil, fmt.Errorf("read profile %s as a part: %w", file, err)
		}
	}
	return sum, nil
}
