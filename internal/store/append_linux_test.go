package store

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/testkit/must"
)

// What follows a line that was cut, by a full disk or because its process was killed, begins on a line of its own.
func TestAppendFileAfterCut(t *testing.T) {
	d := created(t)
	const name = "stacks/m.w.folded"
	text := func() string { return string(must.Get(os.ReadFile(filepath.Join(d.Path(), name)))(t)) }
	must.Do(t, d.AppendFile(name, []byte("a;b 1\n")))

	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var had syscall.Rlimit
	must.Do(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &had))
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 9, Max: had.Max})) // as a full disk: a part is written
	err := d.AppendFile(name, []byte("a;c 22\n"))
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &had))
	must.Fail(t, err, name)
	must.Equal(t, "a;b 1\n", text())

	must.Do(t, os.WriteFile(filepath.Join(d.Path(), name), []byte("a;b 1\na;"), 0o644)) // as after a kill
	must.Do(t, d.AppendFile(name, []byte("a;d 3\n")))
	must.Equal(t, "a;b 1\na;d 3\n", text())

	long := strings.Repeat("x", 2*longestCut) // none of tare's
	must.Do(t, os.WriteFile(filepath.Join(d.Path(), name), []byte(long), 0o644))
	must.Do(t, d.AppendFile(name, []byte("a;d 3\n")))
	must.Equal(t, long+"a;d 3\n", text())
}
