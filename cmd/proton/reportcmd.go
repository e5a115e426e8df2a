package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/internal/version"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer/compare"
	"github.com/goproton/goproton/viewer/kernels"
	"github.com/goproton/goproton/viewer/report"
)

// reportFlags are the flags of `proton report` as they were given.
type reportFlags struct {
	output string
	title  string
	peaks  []string
	rename []string
	svg    string
	force  bool
	open   bool
	paths  []string
	traces []string
	from   fromFlag
}

func newReportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [flags] [FILE [OTHER]]",
		Short: "write a profile or a trace as a page for the browser",
		Long: `report writes a profile as one HTML file for the browser: summary, flame graph, table, roofline and, if the profile
has them, timeline and the source of kernels with their instruction samples. With the trace of the run, the page also
has its launches by specialisation and arguments, and next to the source of each kernel what the compiler made of each
line, stage by stage, or two compilations side by side. The file is complete and needs no network, so it can be mailed,
attached to an issue, or kept next to the code. Press ? on the page for its keys. --svg writes a static picture for
documents instead.

With two files the page compares them: FILE is before (A), OTHER is after (B). Give --trace twice, for A's trace and
for B's, to compare launches with equal arguments. A page of one trace or two needs no profile.

Without -o the page is written to the current folder under the name of the profile with .html appended. An existing
file is replaced if it is a report; otherwise --force is needed. FILE may be - for standard input, and -o - is
standard output.`,
		Example: `  proton report matmul.hatchet
  proton report train.trace.json.gz -o train.html --open
  proton report before.hatchet after.hatchet -o change.html
  proton report --trace traces train.hatchet
  proton report --trace traces1 --trace traces2 before.hatchet after.hatchet
  proton report --trace traces
  proton report --svg roofline matmul.hatchet -o roofline.svg`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.StringVarP(&f.output, "output", "o", "", "write the page to `PAGE`, - is standard output (default NAME.html in the current folder)")
	flags.StringVar(&f.title, "title", "", "title of the page, `TEXT` (default: the name of the profile)")
	flags.StringSliceVar(&f.peaks, "peak", nil, peakUsage)
	flags.StringArrayVar(&f.rename, "rename", nil, "with two profiles: in names of frames, replace matches, `REGEXP=TEXT`; may be repeated")
	flags.StringVar(&f.svg, "svg", "", "write a static picture of `KIND` instead: "+strings.Join(pictures(), " or "))
	flags.StringArrayVar(&f.paths, "source-path", nil, "for instruction samples: replace `OLD=NEW` in paths of sources, or search a folder")
	flags.StringArrayVar(&f.traces, "trace", nil, "add launches by arguments, and the lines that source lines were compiled to, from the `TRACE` of the same run, a folder or a file; for two profiles give it twice, A's first")
	f.from.register(cmd)
	flags.BoolVar(&f.force, "force", false, "replace a file that is not a report")
	flags.BoolVar(&f.open, "open", false, "open the page in the browser")
	choices(cmd, "svg", pictures()...)
	return cmd
}

func (f *reportFlags) run(files []string, stdin io.Reader, stdout, stderr io.Writer) error {
	renames, err := f.check(files)
	if err != nil {
		return usage(err)
	}
	var sources []report.Source
	for _, file := range files {
		p, err := readProfile(file, stdin, f.from)
		if err != nil {
			return err
		}
		tellNoTimes(stderr, reportName(file)+": ", p)
		sources = append(sources, report.Source{Name: reportName(file), Profile: p})
	}
	if len(files) == 0 {
		files = f.traces
		for _, trace := range f.traces {
			sources = append(sources, report.Source{Name: reportName(trace)})
		}
	}
	output := f.output
	if output == "" {
		output = f.defaultName(files)
	}
	texts, err := f.allTexts(files, sources, stderr)
	if err != nil {
		return err
	}
	o := report.Options{Title: f.title, Version: version.Text(), Peaks: f.peaks, Rename: renames, Texts: texts[len(texts)-1], Old: texts[0]}
	var page bytes.Buffer
	if err := f.write(&page, sources, o); err != nil {
		return fmt.Errorf("report on %s: %w", strings.Join(files, " and "), err)
	}
	if output == "-" {
		_, err := stdout.Write(page.Bytes())
		return err
	}
	if err := f.save(output, page.Bytes()); err != nil {
		return err
	}
	tell(stderr, "wrote %s (%s)", output, figures.Bytes.Text(float64(page.Len())))
	if f.open {
		return openBrowser(output)
	}
	return nil
}

// allTexts finds the source texts of each profile, which the Source tab shows with samples.
func (f *reportFlags) allTexts(files []string, sources []report.Source, stderr io.Writer) (all []*report.Texts, err error) {
	for i, file := range files {
		paths := sourceFlags{paths: f.paths}
		texts := &report.Texts{Files: paths.files(file, sources[i].Profile), Modules: &kernels.Modules{Profile: file, Env: os.LookupEnv}}
		if i < len(f.traces) {
			if texts.Trace, err = openTrace(f.traces[i]); err != nil {
				return nil, err
			}
			for _, note := range kernels.TraceNotes(texts.Trace, sources[i].Profile) {
				tell(stderr, "%s: %s", sources[i].Name, note)
			}
		}
		all = append(all, texts)
	}
	return all, nil
}

// check checks the flags before anything is read.
func (f *reportFlags) check(files []string) (renames []compare.Rename, err error) {
	if len(files)+len(f.traces) == 0 || len(files) > 2 {
		return nil, fmt.Errorf("must specify one profile, or two to compare; got %d: proton report FILE [OTHER] [-o PAGE], or proton report --trace TRACE", len(files))
	}
	if err := (&kernels.Files{Moves: f.paths}).CheckMoves(); err != nil {
		return nil, err
	}
	if f.svg != "" && report.Pictures[f.svg] == nil {
		return nil, fmt.Errorf("read --svg %q: use %s", f.svg, strings.Join(pictures(), " or "))
	}
	switch n := len(f.traces); {
	case n > 0 && f.svg != "":
		return nil, errors.New("--trace has no effect on a picture (--svg); leave it out")
	case len(files) == 0 && (n > 2 || len(f.peaks)+len(f.rename)+len(f.paths) > 0 || f.from.Format != nil):
		return nil, errors.New("without a profile a page shows one trace, or compares two: give --trace once or twice, and no --peak, --rename, --source-path or --from")
	case n > 0 && len(files) > 0 && n != len(files):
		return nil, fmt.Errorf("%s, but --trace is given %s: give one trace per profile, in the same order", figures.Count(len(files), "profile"), times(n))
	}
	if f.svg != "" && len(files) > 1 {
		return nil, errors.New("--svg draws one profile; leave it out for a page that compares two")
	}
	if f.svg == "" && strings.EqualFold(filepath.Ext(f.output), ".svg") {
		return nil, fmt.Errorf("%s is the name of a picture; select its kind with --svg %s", f.output, strings.Join(pictures(), " or "))
	}
	return parseRenames(f.rename)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// pictures names the static pictures.
func pictures() []string { return slices.Sorted(maps.Keys(report.Pictures)) }

func (f *reportFlags) write(w io.Writer, sources []report.Source, o report.Options) error {
	if f.svg != "" {
		return report.Pictures[f.svg](w, sources[0], o)
	}
	return report.Write(w, sources, o)
}

// reportName is the name of a file on a page.
func reportName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return filepath.Base(file)
}

// defaultName is the path of a page without -o, in the current folder.
func (f *reportFlags) defaultName(files []string) string {
	var stems []string
	for _, file := range files {
		stem := "report"
		if file != "-" {
			stem = formats.Stem(filepath.Base(file))
		}
		stems = append(stems, stem)
	}
	if f.svg != "" {
		return stems[0] + "." + f.svg + ".svg"
	}
	return strings.Join(stems, "-vs-") + ".html"
}

// save writes a page, unless that would replace a file that is not a report.
func (f *reportFlags) save(path string, page []byte) error {
	if !f.force {
		if err := ours(path); err != nil {
			return err
		}
	}
	return writeFile(path, func(w io.Writer) error { _, err := w.Write(page); return err })
}

// ours returns an error if the path is a file that report did not write. Devices such as /dev/null are allowed.
func ours(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	defer file.Close()
	start := make([]byte, 4096)
	n, err := io.ReadFull(file, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("write report: %w", err)
	}
	if n > 0 && !report.Is(start[:n]) {
		return fmt.Errorf("%s exists and is not a report that proton wrote; choose another name with -o, or replace it with --force", path)
	}
	return nil
}

// openBrowser opens a file in the browser, and does not wait for it.
func openBrowser(path string) error {
	absolute, err := filepath.Abs(path)
	if err == nil && !term.Browse(absolute, os.Environ(), "xdg-open") {
		err = fmt.Errorf("open the browser: there is none; open %s yourself, or name a browser in BROWSER", absolute)
	}
	return err
}
