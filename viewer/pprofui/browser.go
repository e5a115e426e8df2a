package pprofui

import (
	"os/exec"
	"runtime"
	"strings"
)

// openBrowser opens a page if there is a screen to show it on. A failure is not reported, since the address has been printed.
func openBrowser(address string, environment []string) {
	for _, command := range browsers(runtime.GOOS, environment) {
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		browser := exec.Command(words[0], append(words[1:], address)...)
		browser.Env = environment // not ours, whose configuration folder is a temporary one
		if browser.Start() == nil {
			go func() { _ = browser.Wait() }()
			return
		}
	}
}

// browsers returns the commands that open a page, the user's own choice first. On Linux without a display there are no
// others.
func browsers(system string, environment []string) []string {
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
