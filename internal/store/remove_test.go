package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/testkit/must"
)

// full is a run's directory with every kind of file that a run writes, and its contents.
func full(t *testing.T, path string) (c Contents) {
	t.Helper()
	for name, text := range map[string]string{
		StudyFile: "name: x\n", SessionsFile: "{}", TrialsFile: lineOf(1) + "\n", RunFile: `{"schema":"tare.run/1"}`,
		"report.html": "report", "figures/a.svg": "<svg/>", "stacks/m.w.folded": "a;b 1\n",
	} {
		name = filepath.Join(path, name)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644))
		c.Files++
		c.Bytes += int64(len(text))
	}
	return c
}

func remover(t *testing.T, dir string) *Remover {
	t.Helper()
	r := must.Get(OpenRemover(dir))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

// names are all names below a directory.
func below(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	must.Do(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		out = append(out, path)
		return err
	}))
	return out
}

func TestRemove(t *testing.T) {
	top := t.TempDir()
	r := remover(t, top)
	for _, rel := range []string{"run", "study/2026/run"} {
		path := filepath.Join(top, rel)
		want := full(t, path)
		before := below(t, top)
		got := must.Get(r.Check(path))(t)
		must.True(t, got == want, "%+v, want %+v", got, want)
		after := below(t, top)
		must.True(t, slices.Equal(before, after), "Check changed %v to %v", before, after)
		if got := must.Get(r.Remove(path))(t); got != want {
			t.Errorf("removed %+v, want %+v", got, want)
		}
		must.EqualFor(t, "left", 0, len(must.Get(filepath.Glob(filepath.Join(filepath.Dir(path), "*")))(t)))
	}
}

// A directory can be removed with all that a run writes into it.
func TestRemoveWrittenRun(t *testing.T) {
	d := created(t)
	must.Do(t, d.WriteStudy([]byte("name: x\n")), d.WriteSession(session("s", "1s", wholeRun().Tare)), d.Append(sample(1)), d.WriteRun(wholeRun()),
		d.WriteFile("report.html", []byte("report")), d.WriteFile("figures/a.svg", []byte("<svg/>")), d.AppendFile("stacks/m.w.folded", []byte("a;b 1\n")), d.Close())
	top := filepath.Dir(d.Path())
	got, err := remover(t, top).Remove(d.Path())
	must.True(t, err == nil && got.Files == 7 && len(below(t, top)) == 1, "%+v, %v, %v", got, err, below(t, top))
}

// What is no run of this user, or more than one, remains as it is.
func TestRemoveRefuses(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	full(t, outside)
	for name, c := range map[string]struct {
		change func(t *testing.T, top, run string) string // returns what to remove, the run if empty
		want   error
	}{
		"no run": {func(t *testing.T, _, run string) string {
			must.Do(t, os.Remove(filepath.Join(run, RunFile)), os.Remove(filepath.Join(run, TrialsFile)))
			return ""
		}, ErrNotRun},
		"a plain file": {func(t *testing.T, top, _ string) string {
			must.Do(t, os.WriteFile(filepath.Join(top, "f"), nil, 0o600))
			return filepath.Join(top, "f")
		}, ErrNotRun},
		"a link to one": {func(t *testing.T, top, _ string) string {
			must.Do(t, os.Symlink("run", filepath.Join(top, "link")))
			return filepath.Join(top, "link")
		}, ErrNotRun},
		"behind a link": {func(t *testing.T, top, _ string) string {
			must.Do(t, os.Symlink(filepath.Dir(outside), filepath.Join(top, "out")))
			return filepath.Join(top, "out/outside")
		}, nil},
		"outside":              {func(*testing.T, string, string) string { return outside }, nil},
		"the directory itself": {func(_ *testing.T, top, _ string) string { return top }, nil},
		"a link in it": {func(t *testing.T, _, run string) string {
			must.Do(t, os.Symlink(outside, filepath.Join(run, "link")))
			return ""
		}, ErrContents},
		"a run in it": {func(t *testing.T, _, run string) string { full(t, filepath.Join(run, "inner")); return "" }, ErrContents},
		"a user's notes in it": {func(t *testing.T, _, run string) string {
			must.Do(t, os.WriteFile(filepath.Join(run, "NOTES.md"), nil, 0o600))
			return ""
		}, ErrContents},
		"a user's file in a folder of it": {func(t *testing.T, _, run string) string {
			must.Do(t, os.WriteFile(filepath.Join(run, "figures/plot.py"), nil, 0o600))
			return ""
		}, ErrContents},
		"a user's folder in it": {func(t *testing.T, _, run string) string {
			must.Do(t, os.Mkdir(filepath.Join(run, "analysis"), 0o700), os.WriteFile(filepath.Join(run, "analysis/a.svg"), nil, 0o600))
			return ""
		}, ErrContents},
		"anything under the name of an unfinished removal": {func(t *testing.T, top, run string) string {
			at := filepath.Join(top, ".tare-removed-00000000-run")
			must.Do(t, os.Rename(run, at), os.WriteFile(filepath.Join(at, "id_ed25519"), nil, 0o600))
			return at
		}, ErrContents},
		"deep in it": {func(t *testing.T, _, run string) string {
			must.Do(t, os.MkdirAll(filepath.Join(run, "a/b"), 0o700))
			return ""
		}, ErrContents},
		"under way": {func(t *testing.T, _, run string) string {
			d := must.Get(OpenAppend(run))(t)
			t.Cleanup(func() { d.Close() })
			return ""
		}, ErrInUse},
		"gone": {func(t *testing.T, top, _ string) string { return filepath.Join(top, "none") }, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			run := filepath.Join(top, "run")
			full(t, run)
			path := c.change(t, top, run)
			if path == "" {
				path = run
			}
			r := remover(t, top)
			before := append(below(t, top), below(t, outside)...)
			for what, act := range map[string]func(string) (Contents, error){"check": r.Check, "remove": r.Remove} {
				got, err := act(path)
				must.True(t, err != nil && (c.want == nil || errors.Is(err, c.want)) && got == (Contents{}), "%s: %+v, %v", what, got, err)
			}
			after := append(below(t, top), below(t, outside)...)
			must.True(t, slices.Equal(before, after), "%v became %v", before, after)
		})
	}
}

// A removal that is killed after any of its steps is no run of a list, is found again, and
// is finished.
func TestRemoveGoesOn(t *testing.T) {
	for steps := 0; ; steps++ {
		top := t.TempDir()
		run := filepath.Join(top, "study", "run")
		whole := full(t, run)
		r := remover(t, top)
		half := must.Get(r.open(run))(t)
		must.Do(t, half.mark())
		at := filepath.Join(top, "study", half.name)
		must.Do(t, half.close())
		all := below(t, at)[1:]
		slices.Reverse(all) // what is in a folder before the folder
		if steps > len(all) {
			return
		}
		var gone Contents
		for _, name := range all[:steps] {
			if info := must.Get(os.Lstat(name))(t); info.Mode().IsRegular() {
				gone.Files++
				gone.Bytes += info.Size()
			}
			must.Do(t, os.Remove(name))
		}
		runs := must.Get(List(top))(t)
		must.True(t, len(runs) == 0, "after %d steps it is listed: %+v", steps, runs)
		found := must.Get(r.Unfinished())(t)
		must.Require(t, len(found) == 1, "after %d steps: %v", steps, found)
		if got, err := r.Remove(found[0]); err != nil || got.Files+gone.Files != whole.Files || got.Bytes+gone.Bytes != whole.Bytes {
			t.Errorf("after %d steps: %+v and %+v of %+v, %v", steps, gone, got, whole, err)
		}
		left := below(t, filepath.Join(top, "study"))
		must.True(t, len(left) == 1, "after %d steps: left %v", steps, left)
	}
}

// Only what a removal began is finished: somebody's directory of that name remains.
func TestUnfinishedOfOthers(t *testing.T) {
	top := t.TempDir()
	r := remover(t, top)
	path := filepath.Join(top, removedPrefix+"x")
	must.Do(t, os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "file"), nil, 0o600))
	found := must.Get(r.Unfinished())(t)
	must.Require(t, slices.Equal(found, []string{path}), "%v", found)
	_, err := r.Remove(path)
	must.True(t, errors.Is(err, ErrContents), "%v", err)
	must.Get(os.Stat(filepath.Join(path, "file")))(t)
}

// A run that ends after it was listed is removed whole.
func TestRemoveOfWhatGrows(t *testing.T) {
	top := t.TempDir()
	path := filepath.Join(top, "run")
	must.Do(t, os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, TrialsFile), []byte(lineOf(1)+"\n"), 0o644))
	r := remover(t, top)
	half := must.Get(r.open(path))(t)
	whole := full(t, path)
	must.EqualFor(t, "removed", whole, must.Get(half.remove())(t))
	must.Do(t, half.close())
	must.EqualFor(t, "left", 1, len(below(t, top)))
}

// A directory that is exchanged for another one after it was checked is not removed.
func TestRemoveExchanged(t *testing.T) {
	top := t.TempDir()
	run, other := filepath.Join(top, "run"), filepath.Join(top, "other")
	full(t, run)
	full(t, other)
	r := remover(t, top)
	half := must.Get(r.open(run))(t)
	defer func() { must.Do(t, half.close()) }()
	must.Do(t, os.Rename(run, run+".old"), os.Rename(other, run))
	before := below(t, run)
	got, err := half.remove()
	must.True(t, err != nil && got == (Contents{}), "%+v, %v", got, err)
	after := below(t, run)
	must.True(t, slices.Equal(before, after), "%v became %v", before, after)
}

// Two removers of one directory remove each run once.
func TestRemoveAtOnce(t *testing.T) {
	top := t.TempDir()
	var want Contents
	for i := range 20 {
		c := full(t, filepath.Join(top, fmt.Sprint(i)))
		want.Files += c.Files
		want.Bytes += c.Bytes
	}
	results := make(chan Contents, 2)
	for range 2 {
		r := remover(t, top)
		go func() {
			var all Contents
			for i := range 20 {
				c, err := r.Remove(filepath.Join(top, fmt.Sprint(i)))
				must.True(t, err == nil || errors.Is(err, ErrInUse) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotRun), "%v", err)
				all.Files += c.Files
				all.Bytes += c.Bytes
			}
			results <- all
		}()
	}
	a, b := <-results, <-results
	must.True(t, a.Files+b.Files == want.Files && a.Bytes+b.Bytes == want.Bytes && len(below(t, top)) == 1,
		"%+v and %+v of %+v; %v", a, b, want, below(t, top))
}
