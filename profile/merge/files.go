package merge

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/internal/runinfo"
)

// Files finds the files of one run: an argument is a file, a pattern, or the name of the run without suffix, as given to
// proton run --name. Of a name, the timelines are taken if they are asked for, else the trees, and what there is if there is one kind.
func Files(arguments []string, timeline bool) (files []string, err error) {
	for _, argument := range arguments {
		if argument == "-" || there(argument) {
			files = append(files, argument)
			continue
		}
		if strings.ContainsAny(argument, "*?[") {
			found, err := filepath.Glob(argument)
			if err != nil {
				return nil, fmt.Errorf("read the pattern %q: %w", argument, err)
			}
			if len(found) == 0 {
				return nil, fmt.Errorf("no file matches %q: check the name and the folder", argument)
			}
			slices.SortFunc(found, figures.Natural)
			files = append(files, found...)
			continue
		}
		found := filesNamed(argument, timeline)
		if len(found) == 0 {
			found = []string{argument} // whose reading says that there is no such file
		}
		files = append(files, found...)
	}
	return files, nil
}

// filesNamed are the files that the processes of a run of that name have written: NAME, NAME.rank3, NAME.pid7 and NAME.requeue1 with a suffix.
// Next to ranks, NAME alone is left out: merge may have written it before.
func filesNamed(name string, timeline bool) []string {
	kinds := [][]string{runinfo.Formats("tree"), runinfo.Formats("trace")}
	if timeline {
		slices.Reverse(kinds)
	}
	folder, base := filepath.Split(name)
	entries, _ := fs.ReadDir(os.DirFS(cmp.Or(folder, ".")), ".") //nolint:errcheck // no such folder has no such files
	for _, formats := range kinds {
		var found []string
		for _, entry := range entries {
			if rest, is := strings.CutPrefix(entry.Name(), base+"."); is && ofProcess(rest, formats) {
				found = append(found, folder+entry.Name())
			}
		}
		if slices.ContainsFunc(found, func(path string) bool { return strings.HasPrefix(path, name+".rank") }) {
			found = slices.DeleteFunc(found, func(path string) bool {
				return !strings.HasPrefix(path, name+".rank") && !strings.HasPrefix(path, name+".pid")
			})
		}
		if found != nil {
			slices.SortFunc(found, figures.Natural)
			return found
		}
	}
	return nil
}

// ofProcess says whether proton run gives a file what follows the run's name: "rank3.node7.pid12.hatchet", "pid7.hatchet.gz".
func ofProcess(rest string, formats []string) bool {
	rest = inflate.Unpacked(rest)
	for _, format := range formats {
		if rest == format {
			return true
		}
		process, is := strings.CutSuffix(rest, "."+format)
		if is && slices.ContainsFunc([]string{"rank", "pid", "requeue"}, func(word string) bool { return numbered(process, word) }) {
			return true
		}
	}
	return false
}

func numbered(text, word string) bool {
	after, is := strings.CutPrefix(text, word)
	return is && after != "" && after[0] >= '0' && after[0] <= '9'
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// NoteRepeated reports files that are given more than once, under any name: each counts every time.
func NoteRepeated(files []string, note func(string)) {
	type sizeAndTime struct {
		size  int64
		nanos int64
	}
	type named struct {
		info os.FileInfo
		name string
	}
	seen, unpacked := map[sizeAndTime][]named{}, map[string]string{}
	for _, file := range files {
		bare := inflate.Unpacked(file)
		if other := unpacked[bare]; other != "" && other != file {
			note(fmt.Sprintf("%s is %s in another compression: if they are the same, its values count twice", file, other))
		}
		unpacked[bare] = file
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		key := sizeAndTime{info.Size(), info.ModTime().UnixNano()}
		if at := slices.IndexFunc(seen[key], func(other named) bool { return os.SameFile(other.info, info) }); at >= 0 {
			note(fmt.Sprintf("%s is the same file as %s: its values count twice", file, seen[key][at].name))
			continue
		}
		seen[key] = append(seen[key], named{info, file})
	}
}
