package tritonparse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Files are the files that a trace consists of, in the order in which they are read: a file itself, whatever its name; the
// raw traces of a folder; or, where there are none, what Parse wrote there.
func Files(source string) ([]string, error) {
	isFolder, err := lookAt(source)
	switch {
	case err != nil:
		return nil, err
	case !isFolder && filepath.Ext(source) == ".clp":
		return nil, fmt.Errorf("%s is a CLP archive; unpack it with proton trace parse %s -o DIR and read DIR", source, source)
	case !isFolder:
		return []string{source}, nil
	}
	raw, err := rawFiles(source)
	if err != nil {
		return nil, err
	}
	if len(raw) > 0 {
		var ordered []string
		for _, b := range Buckets(raw, true, func(string) {}) {
			ordered = append(ordered, b.Files...)
		}
		return ordered, nil
	}
	files, err := parsedFiles(source)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no trace in %s: neither raw ones, whose names begin with %s, nor what proton trace parse writes%s", source, Prefix, elsewhere(source))
	}
	return files, err
}

// RawFiles are the raw traces that source names: a file, whatever its name, or those of a folder.
func RawFiles(source string) ([]string, error) {
	isFolder, err := lookAt(source)
	switch {
	case err != nil:
		return nil, err
	case !isFolder:
		return []string{source}, nil
	}
	files, err := rawFiles(source)
	if err != nil || len(files) > 0 {
		return files, err
	}
	if parsed, err := parsedFiles(source); err == nil && len(parsed) > 0 {
		return nil, fmt.Errorf("%s holds parsed traces and no raw one; proton trace info %s reads them", source, source)
	}
	return nil, fmt.Errorf("no raw trace in %s; their names begin with %s and end with .ndjson, .bin.ndjson, or one of these and .gz or .zst%s", source, Prefix, elsewhere(source))
}

// lookAt says whether source is a folder; what is neither that nor a file is an error.
func lookAt(source string) (isFolder bool, err error) {
	info, err := os.Stat(source)
	switch {
	case errors.Is(err, fs.ErrNotExist) && source == "-":
		return false, errors.New("a trace cannot be read from standard input, because it is read more than once: write it to a file first")
	case errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("%w; give a trace, a file or the folder that proton run --trace or tritonparse wrote", err)
	case err != nil:
		return false, err
	case !info.IsDir() && !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is not a regular file, and a trace is read more than once: write it to a file first", source)
	}
	return info.IsDir(), nil
}

func rawFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if IsRaw(e.Name()) && ndjson.IsFile(filepath.Join(folder, e.Name()), e) {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	return files, nil
}

// parsedFiles are what Parse writes: in the folder, and in one for each rank.
func parsedFiles(folder string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != folder && !strings.HasPrefix(d.Name(), "rank_"):
			return filepath.SkipDir
		}
		if _, trace := ndjson.TrimExtension(d.Name()); trace && ndjson.IsFile(path, d) {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// elsewhere says what else a folder without traces holds: archives, or folders below it that have some.
func elsewhere(folder string) string {
	if archives := ndjson.CLPArchives(folder); len(archives) > 0 {
		return "; it has CLP archives, which proton trace parse unpacks"
	}
	const maxEntries, maxNamed = 4096, 4
	var found []string
	seen := 0
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > maxEntries || len(found) > maxNamed {
			return filepath.SkipAll
		}
		if err != nil {
			return filepath.SkipDir
		}
		if in := filepath.Dir(path); IsRaw(d.Name()) && ndjson.IsFile(path, d) && !slices.Contains(found, in) {
			found = append(found, in)
		}
		return nil
	})
	if len(found) == 0 {
		return ""
	}
	more := ""
	if len(found) > maxNamed {
		found, more = found[:maxNamed], " and others"
	}
	return "; there are some in " + strings.Join(found, ", ") + more
}
