// Package loopback says which names and requests are of this machine alone.
package loopback

import (
	"net"
	"net/http"
	"strings"
)

// Name reports whether a host's name or address, as a URL or a user has it, is this machine's own.
func Name(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Request reports whether a request comes from this machine and asks for it by such a name. A page of another site whose name
// was made to point to this machine asks for its own.
func Request(r *http.Request) bool {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !Name(from) {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return Name(strings.Trim(host, "[]"))
}
