package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// The answer of a run that was killed is that of a report that was written after its last trial.
func TestListAnswerOfKilled(t *testing.T) {
	top := t.TempDir()
	put := func(name, data string, age time.Duration) {
		path := filepath.Join(top, name)
		must.Do(t, os.WriteFile(path, []byte(data), 0o644), os.Chtimes(path, noon.Add(-age), noon.Add(-age)))
	}
	put(TrialsFile, lineOf(1)+"\n", time.Minute)
	for _, c := range []struct {
		age  time.Duration
		text string
		want string
	}{{0, "interrupted", "interrupted"}, {2 * time.Minute, "stale", ""}, {0, strings.Repeat("x", maxAnswer+1), ""}} {
		put(AnswerFile, c.text, c.age)
		must.Equal(t, c.want, must.Get(List(top))(t)[0].Answer)
	}
}

func TestList(t *testing.T) {
	top := t.TempDir()
	put := func(name, file, data string) {
		path := filepath.Join(top, name)
		must.Do(t, os.MkdirAll(path, 0o755), os.WriteFile(filepath.Join(path, file), []byte(data), 0o644))
	}
	at := func(id string, minutes int) string {
		r := wholeRun()
		r.ID, r.Started = id, noon.Add(time.Duration(minutes)*time.Minute)
		return string(must.Get(EncodeRun(r))(t))
	}
	put("old", RunFile, at("old", 1))
	put("old", AnswerFile, "bridge costs\n most\n")
	put("study/new", RunFile, at("new", 2))
	put("study/new/inner", RunFile, at("a run in a run is passed over", 9))
	put("a/b/deepest", RunFile, at("deepest", 0))
	put("a/b/c/d", RunFile, at("too deep", 9))
	put(".hidden", RunFile, at("hidden", 9))
	put("empty", "notes.txt", "")
	put("no-run", StudyFile, "")
	put("killed", TrialsFile, lineOf(1)+"\n"+lineOf(2)[:30])
	put("later", RunFile, `{"schema":"tare.run/2"}`)
	must.Do(t, os.WriteFile(filepath.Join(top, "file"), nil, 0o644))

	summary := func(path, id string, minutes int) Summary {
		return Summary{Path: path, ID: id, Started: noon.Add(time.Duration(minutes) * time.Minute), Status: result.RunComplete, Profile: "standard", Trials: 2, Valid: 2, Modes: []string{"host"}}
	}
	old := summary("old", "old", 1)
	old.Answer = "bridge costs most"
	want := []Summary{
		summary("study/new", "new", 2), old, summary("a/b/deepest", "deepest", 0),
		{Path: "killed", Started: noon, Status: result.RunInterrupted, Trials: 1, Valid: 1, Modes: []string{"m"}},
		{Path: "later", Problem: `read later/run.json: schema "tare.run/2", but this version of tare reads only "tare.run/1": use the version that wrote it, or a later one`},
	}
	link := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(top, link))
	for _, dir := range []string{top, top + "/", link} {
		got := must.Get(List(dir))(t)
		for i := range got {
			got[i].Problem = strings.ReplaceAll(got[i].Problem, filepath.Clean(dir)+"/", "")
			got[i].Path = must.Get(filepath.Rel(dir, got[i].Path))(t)
		}
		must.EqualFor(t, dir, want, got, cmpopts.EquateEmpty())
	}
	got, err := List(filepath.Join(top, "old"))
	must.True(t, err == nil && len(got) == 1 && got[0].ID == "old", "a run itself: %v, %v", got, err)
	if _, err := List(filepath.Join(top, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
}
