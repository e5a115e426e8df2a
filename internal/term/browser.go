package term

import (
	"os/exec"
	"runtime"
	"strings"
)

// Browse opens a page or a file in the browser, and does not wait for it. It reports whether there is one, and a screen
// to show it on. Commands of otherwise are tried also without a screen.
func Browse(address string, environment []string, otherwise ...string) bool {
	for _, words := range browsers(environment, otherwise...) {
		browser := exec.Command(words[0], append(words[1:], address)...)
		browser.Env = environment // not ours, which may have a configuration folder that is a temporary one
		if browser.Start() == nil {
			go func() { _ = browser.Wait() }()
			return true
		}
	}
	return false
}

// CanBrowse reports whether there is a browser, and a screen to show it on.
func CanBrowse(environment []string) bool { return len(browsers(environment)) > 0 }

// browsers are the commands that could open a page and exist.
func browsers(environment []string, otherwise ...string) (list [][]string) {
	for _, command := range append(openers(runtime.GOOS, environment), otherwise...) {
		if words := strings.Fields(command); len(words) > 0 {
			if _, err := exec.LookPath(words[0]); err == nil {
				list = append(list, words)
			}
		}
	}
	return list
}

// openers returns the commands that open a page, the user's own choice first. On Linux without a display there are no
// others.
func openers(system string, environment []string) []string {
	value := func(name string) string {
		for _, pair := range environment {
			if v, found := strings.CutPrefix(pair, name+"="); found {
				return v
			}
		}
		return ""
	}
	list := strings.Split(value("BROWSER"), ":")
	switch {
	case system == "darwin":
		return append(list, "/usr/bin/open")
	case system == "windows":
		return append(list, "rundll32 url.dll,FileProtocolHandler")
	case value("DISPLAY") != "" || value("WAYLAND_DISPLAY") != "":
		return append(list, "xdg-open", "sensible-browser", "firefox", "chromium", "google-chrome")
	}
	return list
}
