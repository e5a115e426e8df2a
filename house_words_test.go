package goproton

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/goproton/goproton/internal/testkit"
)

// retired are the words that comments, messages, identifiers and pages do not use. A reader who knows CUPTI, Triton and Go
// but not this code stumbles over them: they stand for a term of the field, or leave out who does what.
// Patterns are matched without regard to case, after identifiers were split into their words (noPaper: no Paper).
var retired = []struct {
	name    string   // as exceptions call it
	stems   []string // a line without any of these does not match; it keeps the test fast
	pattern string
	instead string
	why     string
}{
	{"told", []string{"told"}, `\b(un)?told\b`,
		"reported, passed, set, known; unattributed", "it hides which function reports what to whom"},
	{"beside", []string{"beside"}, `\bbesides?\b`,
		"next to, in addition to, with, other than", "it means either a place or an addition, and the reader has to find out which"},
	{"whoever", []string{"whoever"}, `\bwhoever\b`,
		"the caller, the thread, the program, the user", "the subject of the sentence is known: name it"},
	{"is no", []string{" no "}, `\b(is|are|was|were|be) no [a-z]`,
		"is not a", "\"is no X\" reads as \"there is no X\" until the sentence ends"},
	{"from 0 on", []string{"from 0", "from zero"}, `\bfrom (0|zero) on\b`,
		"0 or more, at least 0", "it is a range, and ranges have a lower limit"},
	{"put away", []string{" away"}, `\b(put|puts|putting) away\b`,
		"store, spill, write to the temporary file", "the name of the operation says where the data is afterwards"},
	{"gets on", []string{"get on", "gets on", "got on", "getting on"}, `\b(gets?|got|getting) on\b`,
		"makes progress", "the term for it is progress"},
	{"stranger", []string{"stranger"}, `\bstrangers?\b`,
		"unknown, foreign, unattributed, another program's", "what is unknown about it is the point: say that"},
	{"loose", []string{"loose"}, `\bloose(ly|n|ned|ns)?\b`,
		"unattributed, without a launch", "the field calls these unattributed"},
	{"settle", []string{"settl"}, `\b(un)?settle[sd]?\b|\bsettling\b`,
		"apportion, flush, finish, decide", "it names several operations: use the name of the one that happens"},
	{"becomes", []string{"becom"}, `\bbecomes?\b|\bbecoming\b`,
		"is set to, is written as, is read as, turns into", "it hides which code makes the change"},
	{"stray", []string{"stray", "straighten"}, `\bstray(s|ed|ing)?\b|\bstraighten(s|ed|ing)?\b`,
		"outlier, difference, unordered; correct, order", "it is a metaphor for an error in a measurement: name the error"},
	{"twin", []string{"twin", "alike"}, `\btwin(s|ned)?\b|\balike\b`,
		"duplicate, of the same name, with the same hash, equal, the same way", "say in what they are equal"},
	{"excuses", []string{"excuse"}, `\bexcuses?\b`,
		"reasons, exceptions", "it is a metaphor for the reason why a check does not apply"},
	{"hand", []string{"hand"}, `\b(a|the|its|this|that|own|in|at|of|to|from|one|which|whose|no) hands?\b(?:[^-]|$)|\b(in|memory|resident) hand\b`,
		"resident state, memory, available, present, current", "data lies in memory or in a file, and that is what the reader needs to know"},
	{"shelf", []string{"shel"}, `\bshel(f|ves)\b|\bshelved\b`,
		"sorted run, temporary file, store", "it is a metaphor for a temporary file"},
	{"paper", []string{"paper"}, `\bpapers?\b`,
		"layout, style, output", "what is drawn on is a terminal, a file or a page"},
	{"nobody", []string{"body"}, `\b(nobody|somebody|anybody)\b`,
		"no thread, no caller, no code, a user, a reader", "the subject is a part of the program or a user: name it"},
	{"tells", []string{"tell"}, `\btells? (apart|which|what|whether|how|where|when|that|why|if|of|from|it|by)\b`,
		"says, reports, shows, returns, distinguishes", "a function returns, a record holds and a message says: the verb shows which"},
}

// exceptions are uses of those words that stay: names that are not ours, and plain English that has one reading.
var exceptions = []struct{ word, pattern, why string }{
	{"is no", `\b(there|here) (is|are|was|were|will be|would be|may be|can be|must be|should be|to be|need be) (currently |also |simply |then |still |yet |as yet )?no\b`,
		"\"there is no X\" has one reading"},
	{"beside", `\bbesides: tensors\b|"besides"`, "a rule of proton trace validate, whose output names it"},
	{"told", `\bnot told apart\b`, "a key of the JSON that trace commands print; keys of JSON are not renamed"},
	{"is no", `\b(is|are|was|were|be) there no\b`, "the same, as a question"},
	{"is no", `\b(is|are|was|were|be) no (longer|more|less|fewer|better|worse|slower|faster|larger|smaller|greater|later|earlier|longer|older|newer|different|other|good|use|one|way|need|such|matter)\b`,
		"a comparison, or a fixed phrase"},
	{"paper", `\bpaper[_ ]?(bgcolor|size)\b`, "attributes of other programs' formats"},
	{"nobody", `\b(user|uid|setuid|su) *[:("' ] *nobody\b`, "the name of a user on Unix"},
}

// wordless are the files that name the retired words.
var wordless = []string{"house_words_test.go"}

type retiredWord struct {
	name, advice string
	stems        []string
	pattern      *regexp.Regexp
	exceptions   []*regexp.Regexp
}

func retiredWords() (list []retiredWord) {
	for _, r := range retired {
		w := retiredWord{name: r.name, stems: r.stems, pattern: regexp.MustCompile(r.pattern),
			advice: fmt.Sprintf("write %s: %s", r.instead, r.why)}
		for _, e := range exceptions {
			if e.word == r.name {
				w.exceptions = append(w.exceptions, regexp.MustCompile(e.pattern))
			}
		}
		list = append(list, w)
	}
	return list
}

// found returns the text that breaks the rule, "" for none.
func (w retiredWord) found(line string) string {
	if !slices.ContainsFunc(w.stems, func(s string) bool { return strings.Contains(line, s) }) {
		return ""
	}
	for _, e := range w.exceptions {
		line = e.ReplaceAllString(line, "…")
	}
	return w.pattern.FindString(line)
}

// split separates the words of identifiers and writes them in lower case: "addHandFile" is "add hand file".
func split(line string) string {
	var b strings.Builder
	var last rune
	for _, r := range line {
		if r == '_' {
			r = ' '
		}
		if unicode.IsUpper(r) && (unicode.IsLower(last) || unicode.IsDigit(last)) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return b.String()
}

// ourText says whether a file is text of ours. What testdata holds was recorded or comes from other programs, except the
// stories of the command line.
func ourText(name string) bool {
	if slices.Contains(wordless, name) {
		return false
	}
	return !strings.Contains(name, "testdata/") || path.Ext(name) == ".txtar"
}

func TestRetiredWords(t *testing.T) {
	list := retiredWords()
	for _, name := range sources(t, ".go", ".c", ".h", ".py", ".js", ".css", ".md", ".sh", ".txtar") {
		if !ourText(name) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			line = split(line)
			for _, w := range list {
				if bad := w.found(line); bad != "" {
					t.Errorf("%s:%d has the retired %q: %s", name, i+1, strings.TrimSpace(bad), w.advice)
				}
			}
		}
	}
}

// TestRetiredWordsMatch keeps the patterns from matching nothing, or too much.
func TestRetiredWordsMatch(t *testing.T) {
	for _, c := range []struct{ line, word string }{
		{"// what nobody told the caller", "told nobody"},
		{"func addUntoldLaunch()", "told"},
		{"it lies beside the trace; besides, it is large", "beside"},
		{"\"%s is no size\"", "is no"},
		{"there is no size, and it is no longer needed", ""},
		{"mean and m2 are no numbers from 0 on", "is no from 0 on"},
		{"what was put away", "put away"},
		{"as long as the GPU gets on", "gets on"},
		{"if is := strangerOf(head)", "stranger"},
		{"loose samples settle", "loose settle"},
		{"the field becomes 3", "becomes"},
		{"a stray launch is straightened", "stray"},
		{"two twins look alike", "twin"},
		{"the kernel at hand, its hand", "hand"},
		{"written by hand; hands it over; on the right-hand side", ""},
		{"viewer.Paper{Width: 80}", "paper"},
		{"it tells which kernel ran; the profiler tells the user", "tells"},
		{"Whoever calls it; the shelf; Excuses", "whoever shelf excuses"},
	} {
		line, want := split(c.line), strings.Fields(c.word)
		got := []string{}
		for _, w := range retiredWords() {
			if w.found(line) != "" {
				got = append(got, strings.Fields(w.name)...)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("%q: found %q, want %q", c.line, got, want)
		}
	}
}

// oneMeaning are words that mean something else elsewhere in the house, with the folder in which they are not used, and the word there.
var oneMeaning = []struct{ word, folder, instead, elsewhere string }{
	{"spool", "tritonparse", "ring file", "a folder of windows that wait until they are sent"},
	{"slot", "profiler/budget", "turn", "a sum of a metric in the hot path"},
	{"idle", "tritonparse/internal/work", "irrelevant, uncounted", "a GPU without work"},
	{"trace file", "profiler", "timeline file", "a file of TritonParse; a profile's form in time is a timeline"},
}

func TestWordsWithOneMeaning(t *testing.T) {
	for _, w := range oneMeaning {
		word, files := regexp.MustCompile(`\b`+w.word+`s?\b`), 0
		for _, file := range sources(t, ".go") {
			if below(path.Dir(file), w.folder) {
				files++
				if found := word.FindString(split(testkit.Read(t, file))); found != "" {
					t.Errorf("%s has %q, which is %s: write %s", file, found, w.elsewhere, w.instead)
				}
			}
		}
		if files == 0 {
			t.Errorf("%s has no files: correct the table", w.folder)
		}
	}
}
