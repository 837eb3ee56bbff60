// Package machine reaches the machines of a run: this one, and others through the user's
// own ssh program. On another machine it places a copy of this program in a private
// directory, starts it there over connections of ssh's, and removes it again.
package machine

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// LocalName is the name of this machine in a study's hosts and after --host.
const LocalName = "local"

// Address says how a machine is reached. The zero Address is this machine.
type Address struct {
	User string // empty for the default of the user's ssh
	Host string // a name, an alias of the user's ssh configuration, or an IP address
	Port uint16 // 0 for the default of the user's ssh
}

// Parse reads an address: LocalName, or ssh://[user@]name[:port].
func Parse(text string) (Address, error) {
	bad := func(why string) (Address, error) {
		return Address{}, fmt.Errorf("host %q: %s; use %s or ssh://[user@]name[:port]", text, why, LocalName)
	}
	if text == LocalName {
		return Address{}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "ssh" {
		return bad("this is not an address of a machine")
	}
	a := Address{User: u.User.Username(), Host: u.Hostname()}
	_, password := u.User.Password()
	switch {
	case password:
		return bad("a password has no place in an address")
	case u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		return bad("nothing may follow the name and the port")
	case a.Host == "" || !plain(a.Host) || a.User != "" && !plain(a.User):
		return bad("a name and a user consist of letters, digits and . _ - : % and do not begin with -")
	}
	if text := u.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return bad("the port is not between 1 and 65535")
		}
		a.Port = uint16(port)
	}
	return a, nil
}

// plain reports whether a text may be an argument of ssh: it cannot be taken for an option.
func plain(text string) bool {
	return !strings.HasPrefix(text, "-") && !strings.ContainsFunc(text, func(r rune) bool { return !isPlain(r, "._-:%") })
}

// isPlain reports whether a character is a letter, a digit, or among others.
func isPlain(r rune, others string) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(others, r)
}

// Local reports whether the address is this machine.
func (a Address) Local() bool { return a == Address{} }

// String returns the address in the form that Parse reads.
func (a Address) String() string {
	if a.Local() {
		return LocalName
	}
	u := url.URL{Scheme: "ssh", Host: a.Host}
	if strings.Contains(a.Host, ":") {
		u.Host = "[" + a.Host + "]"
	}
	if a.User != "" {
		u.User = url.User(a.User)
	}
	if a.Port != 0 {
		u.Host += ":" + strconv.Itoa(int(a.Port))
	}
	return u.String()
}
