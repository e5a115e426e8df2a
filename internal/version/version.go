// Package version names this release. Everything that states a version takes it from here: the commands, the files that are written,
// the names of packages, and goproton.__version__, which a test compares.
package version

import (
	"fmt"
	"regexp"
	"strconv"
)

// Number is the release, as semver.org counts. CHANGELOG.md has a section for it.
const Number = "0.1.0"

// Revision is the commit of the source tree, "b942568" or "b942568.dirty". The build sets it; it is empty in a build without git.
var Revision string

// Text is the version with the revision: "0.1.0+b942568".
func Text() string {
	if Revision == "" {
		return Number
	}
	return Number + "+" + Revision
}

// Tool is what files name as their writer: "goproton 0.1.0+b942568".
func Tool() string { return "goproton " + Text() }

var tool = regexp.MustCompile(`goproton ((\d{1,9})\.(\d{1,9})\.\d{1,9})\b`)

// Pattern matches the name of a writer within a file of any format.
func Pattern() *regexp.Regexp { return tool }

// Newer returns what to say about a file by its writer, as Tool names it: "" if this program knows all that the writer does.
// The third number of a version changes no format.
func Newer(writer string) string { return newer(writer, Number) }

func newer(writer, ours string) string {
	theirs, this := tool.FindStringSubmatch(writer), tool.FindStringSubmatch("goproton "+ours)
	if theirs == nil || release(theirs) <= release(this) {
		return ""
	}
	return fmt.Sprintf("written by goproton %s; this is %s: install a newer one", theirs[1], ours)
}

// release is the first two numbers of a version as one.
func release(found []string) int {
	major, _ := strconv.Atoi(found[2])
	minor, _ := strconv.Atoi(found[3])
	return major<<30 | minor
}
