package report

import (
	"fmt"
	"io/fs"
	"iter"
	"regexp"
	"strings"
	"sync"
)

// The page's scripts are ES modules (web/*.js), which editors, TypeScript and node read as they are. A page that is one file
// cannot load modules under a policy that allows one script by its checksum, so they are joined in one function scope: each
// module after those that it imports, without the import statements and the word export. That works as long as no two modules
// declare the same name and none imports under another name; modules_test.go checks both.

var imports = regexp.MustCompile(`^import \{[^}]*\} from "\./(\w+)\.js";\n$`)

// script is the page's script, the same for every page.
var script = sync.OnceValues(func() (string, error) {
	modules, err := fs.Sub(web, "web")
	if err != nil {
		return "", err
	}
	return join(modules, "main")
})

// join joins a module and all that it imports into a script.
func join(modules fs.FS, name string) (string, error) {
	j := joiner{modules: modules, state: map[string]joining{}}
	j.out.WriteString("(() => {\n\"use strict\";\n")
	if err := j.add(name); err != nil {
		return "", err
	}
	j.out.WriteString("})();\n")
	return j.out.String(), nil
}

type joiner struct {
	modules fs.FS
	state   map[string]joining // by module
	out     strings.Builder
}

type joining int

const (
	pending joining = iota
	begun
	added
)

// add appends a module after those that it imports.
func (j *joiner) add(name string) error {
	switch j.state[name] {
	case added:
		return nil
	case begun:
		return fmt.Errorf("join the page's scripts: %s.js imports a module that imports %s.js", name, name)
	}
	j.state[name] = begun
	text, err := fs.ReadFile(j.modules, name+".js")
	if err != nil {
		return fmt.Errorf("join the page's scripts: %w", err)
	}
	var body strings.Builder
	for line := range code(string(text)) {
		if !strings.HasPrefix(line, "import ") {
			body.WriteString(strings.TrimPrefix(line, "export "))
		} else if found := imports.FindStringSubmatch(line); found == nil {
			return fmt.Errorf("join the page's scripts: %s.js has an import of another form: %s", name, line)
		} else if err := j.add(found[1]); err != nil {
			return err
		}
	}
	j.out.WriteString(body.String())
	j.state[name] = added
	return nil
}

// code yields the lines of a module without indentation. It leaves out comments that begin a line: they and the indentation are
// a third of the modules and would be a third of each page.
func code(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		within := false // a comment that began in an earlier line
		for line := range strings.Lines(text) {
			line = strings.TrimLeft(line, " \t")
			if within || strings.HasPrefix(line, "/**") {
				_, after, ends := strings.Cut(line, "*/")
				if within = !ends; within {
					continue
				}
				line = strings.TrimLeft(after, " \t")
			}
			if line != "" && line != "\n" && !strings.HasPrefix(line, "//") && !yield(line) {
				return
			}
		}
	}
}
