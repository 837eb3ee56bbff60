package kubetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// fakeGroup is a control group of version 2 as far as its controllers are concerned.
type fakeGroup struct {
	t  *testing.T
	at string
}

func newFakeGroup(t *testing.T, available, passes string) *fakeGroup {
	g := &fakeGroup{t: t, at: t.TempDir()}
	must.Do(t, os.WriteFile(filepath.Join(g.at, availableControllers), []byte(available), 0o600))
	g.passes(passes)
	return g
}

func (g *fakeGroup) file() string { return filepath.Join(g.at, passedControllers) }

// passes sets what it passes on, as the kernel does after a write.
func (g *fakeGroup) passes(controllers string) {
	g.t.Helper()
	must.Do(g.t, os.WriteFile(g.file(), []byte(controllers), 0o600))
}

// asked is what was last written.
func (g *fakeGroup) asked() string {
	g.t.Helper()
	return string(must.Get(os.ReadFile(g.file()))(g.t))
}

// The last of several clusters restores what all of them have changed, and what one that was killed did.
func TestControllersRestored(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	g := newFakeGroup(t, "cpu memory pids\n", "cpu memory\n")
	roots := []string{t.TempDir(), g.at} // the first is of version 1
	first := must.Get(passControllers(record, roots))(t)
	must.Equal(t, "+pids", g.asked())
	g.passes("cpu memory pids\n")
	second := must.Get(passControllers(record, roots))(t)
	must.Equal(t, g.file()+" pids\n", string(must.Get(os.ReadFile(record))(t)))

	must.Do(t, first.restore())
	must.EqualFor(t, "while another uses them", "cpu memory pids\n", g.asked())
	must.Do(t, second.record.Close()) // it is killed
	third := must.Get(passControllers(record, roots))(t)
	must.Do(t, third.restore())
	must.Equal(t, "-pids", g.asked())
	must.FailFor(t, "the record", must.Err(os.Stat(record)))

	var none *passed
	must.Do(t, none.restore())
	g.passes("cpu memory pids\n") // as systemd does
	last := must.Get(passControllers(record, roots))(t)
	must.Do(t, last.restore())
	must.EqualFor(t, "what was passed on before", "cpu memory pids\n", g.asked())
}

// Where the kernel refuses, because another program has come to use a controller, the record stays and the error names it.
func TestControllersBusy(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	g := newFakeGroup(t, "cpu\n", "")
	p := must.Get(passControllers(record, []string{g.at}))(t)
	must.Do(t, os.Remove(g.file()))
	must.Do(t, os.Mkdir(g.file(), 0o700))
	err := p.restore()
	must.Fail(t, err, "restore the controllers of control groups, which "+record+" lists")
	must.True(t, strings.Contains(string(must.Get(os.ReadFile(record))(t)), " cpu\n"), "the record is gone")
}
