package foreign

import (
	"net"
	"strings"
)

// ThisMachine reports whether a host's name or address, as a URL or a user has it, is this machine's own.
func ThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// FromThisMachine reports whether a request of HTTP, which is from an address and for a host, comes from this machine and asks for it by
// such a name. A page of another site whose name was made to point to this machine asks for its own.
func FromThisMachine(address, host string) bool {
	from, _, err := net.SplitHostPort(address)
	if err != nil || !ThisMachine(from) {
		return false
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return ThisMachine(strings.Trim(host, "[]"))
}
