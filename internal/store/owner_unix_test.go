//go:build unix

package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// asSudo is a process of root that the user 1234 of the group 4321 started.
func asSudo(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		testneed.Missing(t, testneed.Root, "only root gives files away")
	}
	t.Setenv("SUDO_UID", "1234")
	t.Setenv("SUDO_GID", "4321")
}

// uids are the users of everything below a directory, by path.
func uids(t *testing.T, top string) map[string]int {
	t.Helper()
	out := map[string]int{}
	must.Do(t, filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := must.Get(filepath.Rel(top, path))(t)
		out[rel], _ = userOf(must.Get(e.Info())(t))
		return nil
	}))
	return out
}

// A run under sudo belongs to who called it: every directory and file that it creates,
// and none that was there.
func TestRunUnderSudoBelongsToItsUser(t *testing.T) {
	asSudo(t)
	top := t.TempDir()
	there := filepath.Join(top, "there")
	must.Do(t, os.Mkdir(there, 0o755))
	d := must.Get(Create(filepath.Join(there, "tare-runs", "run")))(t)
	must.Do(t, d.WriteStudy(nil), d.Append(sample(1)), d.WriteFile("figures/a.svg", nil), d.AppendFile("stacks/x", nil), d.AppendFile("stacks/x", nil), d.WriteSession(session("s", "1s", wholeRun().Tare)), d.WriteRun(wholeRun()))
	for path, uid := range uids(t, top) {
		want := 1234
		if path == "." || path == "there" {
			want = 0
		}
		must.True(t, uid == want, "%s belongs to %d, want %d", path, uid, want)
	}
	must.Do(t, d.Close())
}

// In a directory of root's, such as a run without sudo, its files stay root's.
func TestReportUnderSudoInDirectoryOfRoot(t *testing.T) {
	asSudo(t)
	d := created(t)
	must.Do(t, os.Chown(d.Path(), 0, 0), d.Close())
	d = must.Get(OpenAppend(d.Path()))(t)
	defer d.Close()
	must.Do(t, d.WriteFile("figures/a.svg", nil))
	for _, path := range []string{".", lockFile, "figures", "figures/a.svg"} {
		must.EqualFor(t, path+" belongs to", 0, uids(t, d.Path())[path])
	}
}

// Only a plain number names a user, and only root gives anything away.
func TestSudoOwner(t *testing.T) {
	asSudo(t)
	o := sudoOwner()
	must.True(t, o == (owner{true, 1234, 4321}), "%+v", o)
	for _, bad := range []string{"", "-1", "+1", "0", "0x10", "root", "1_0", " 1", "4294967295", "4294967296", "1.0"} {
		t.Setenv("SUDO_UID", bad)
		o := sudoOwner()
		must.True(t, !o.set, "SUDO_UID=%q: %+v", bad, o)
	}
	t.Setenv("SUDO_UID", "1234")
	for _, bad := range []string{"", "-1", "4294967295", "users"} {
		t.Setenv("SUDO_GID", bad)
		o := sudoOwner()
		must.True(t, !o.set, "SUDO_GID=%q: %+v", bad, o)
	}
}

// What replaced a new directory before it could be given away is not given away: a link,
// a directory with content or of another user, a file, a pipe.
func TestGiveOnlyOwnDirectories(t *testing.T) {
	asSudo(t)
	top := t.TempDir()
	root := must.Get(os.OpenRoot(top))(t)
	defer root.Close()
	must.Do(t, os.Mkdir(filepath.Join(top, "target"), 0o700), os.Symlink("target", filepath.Join(top, "link")),
		os.MkdirAll(filepath.Join(top, "full", "x"), 0o700), os.WriteFile(filepath.Join(top, "file"), nil, 0o600),
		os.Mkdir(filepath.Join(top, "other"), 0o700), os.Chown(filepath.Join(top, "other"), 5, 5), os.Mkdir(filepath.Join(top, "own"), 0o700))
	o := sudoOwner()
	for _, name := range []string{"link", "full", "file", "other", "own", "none"} {
		o.giveDir(root, name)
	}
	for path, uid := range uids(t, top) {
		want := map[string]int{"own": 1234, "other": 5}[path]
		must.True(t, uid == want, "%s belongs to %d, want %d", path, uid, want)
	}
}
