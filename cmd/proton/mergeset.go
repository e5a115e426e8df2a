package main

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

// filesOf finds the files of one run: an argument is a file, a pattern, or the name of the run without suffix, as given to
// proton run --name. Of a name, the timelines are taken if they are asked for, else the trees, and what there is if there is one kind.
func filesOf(arguments []string, timeline bool) (files []string, err error) {
	for _, argument := range arguments {
		if argument == "-" || exists(argument) {
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
