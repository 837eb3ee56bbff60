package machine

import (
	"fmt"
	"strings"

	"tare/internal/agent/transport"
)

// shell is how a command line is written for the other side.
type shell interface {
	// launch returns the command that writes the marker on a line of its own and becomes the
	// program with its arguments.
	launch(marker, program string, args []string, asRoot bool) (string, error)
}

// posix is a system with sh. The user's own shell may be another one, which gets only texts in
// single quotes, and in these no character that any shell treats specially there: csh does so with
// an exclamation mark and line breaks, fish with a backslash.
type posix struct{ directory string }

// launchScript writes the marker, after whatever the user's shell has written, and becomes the
// program.
const launchScript = `echo "$1"; shift; exec "$@"`

func (p posix) launch(marker, program string, args []string, asRoot bool) (string, error) {
	words := []string{"sh", "-c", launchScript, "tare", marker}
	if asRoot {
		words = append(words, "sudo", "-n", "--")
	}
	words = append(words, "env", transport.Environment, envDirectory+"="+p.directory, program)
	return quoteAll(append(words, args...))
}

// quoteAll writes words for a POSIX shell, csh or fish.
func quoteAll(words []string) (string, error) {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i := strings.IndexFunc(w, unquotable); i >= 0 {
			return "", fmt.Errorf("the argument %q cannot be passed through ssh: it has a quote, a backslash, an exclamation mark or a control character", w)
		}
		b.WriteString("'" + w + "'")
	}
	return b.String(), nil
}

func unquotable(r rune) bool {
	return r < ' ' || r == 0x7f || strings.ContainsRune(`'\!`, r)
}
