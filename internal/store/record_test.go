package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// historic is a run with everything that a record has.
func historic(id string, minutes int) result.Run {
	r := wholeRun()
	r.ID, r.Started, r.Noisy = id, noon.Add(time.Duration(minutes)*time.Minute), "a busy machine "+id
	r.Hosts = append(r.Hosts, result.Host{Name: "b", Facts: []result.Fact{{Name: "load", Value: id}}})
	r.Modes = append(r.Modes,
		result.Mode{ID: "m", Mode: "docker/bridge", Title: "M", Status: result.ModeMeasured, Baseline: "host", Facts: []result.Fact{{Name: "engine", Value: "20"}}},
		result.Mode{ID: "copy", Title: "Control", Status: result.ModeVoid, Reason: "no proof", Baseline: "host", Control: true})
	of := func(metric string, ratio float64) result.Cell {
		return result.Cell{Mode: "m", Workload: "w", Metric: metric, Unit: "bit/s", Better: result.Higher, N: minutes, Value: new(7.0), Baseline: "host",
			Judgement: result.Judgement{Ratio: new(ratio), RatioCI: &result.Interval{ratio - 0.1, ratio + 0.1}, P: new(0.5), Verdict: result.Worse, Margin: 0.05}}
	}
	other := of("rtt_p50", 1.25)
	other.RatioCI, other.Margin, other.AtLeast, other.Indicative, other.Verdict = nil, 0.1, true, true, ""
	r.Cells = append(r.Cells, of("goodput", 0.9+float64(minutes)/1000), other, of("loss_ratio", 2))
	return r
}

// manyRuns is a directory with runs of each kind, two of which cannot be read.
func manyRuns(t *testing.T) (top string, whole int) {
	t.Helper()
	top = t.TempDir()
	for i := range 8 {
		putRun(t, filepath.Join(top, fmt.Sprintf("study%d/run%d", i%2, i)), historic(fmt.Sprintf("id%d", i), i))
	}
	d := must.Get(Create(filepath.Join(top, "recorded")))(t)
	s := session("s", "1s", wholeRun().Tare)
	r := historic("s", 50)
	s.Run = result.Run{ID: r.ID}
	must.Do(t, d.WriteStudy([]byte("name: recorded\nseed: 1\n")), d.WriteSession(s), d.WriteRun(r), d.Close())
	killed := must.Get(Create(filepath.Join(top, "killed")))(t)
	must.Do(t, killed.Append(sample(1)), killed.Close())
	for name, text := range map[string]string{"corrupt": `{"schema":`, "later": `{"schema":"tare.run/2"}`} {
		must.Do(t, os.Mkdir(filepath.Join(top, name), 0o755), os.WriteFile(filepath.Join(top, name, RunFile), []byte(text), 0o644))
	}
	return top, 10
}

func putRun(t *testing.T, path string, r result.Run) {
	t.Helper()
	must.Do(t, os.MkdirAll(path, 0o755), os.WriteFile(filepath.Join(path, RunFile), must.Get(EncodeRun(r))(t), 0o644),
		os.WriteFile(filepath.Join(path, StudyFile), []byte("name: "+filepath.Base(filepath.Dir(path))+"\nseed: "+r.ID+"\n"), 0o644))
}

// directly is what the directories themselves contain.
func directly(t *testing.T, top string) []Record {
	t.Helper()
	var out []Record
	for _, path := range must.Get(findRuns(top + "/"))(t) {
		out = append(out, must.Get(readRecord(path))(t))
	}
	slices.SortStableFunc(out, func(a, b Record) int { return newestFirst(&a.Summary, &b.Summary) })
	return out
}

// The hash tells studies apart, whatever their seed.
func TestHashOfStudy(t *testing.T) {
	top, _ := manyRuns(t)
	of := map[string]string{}
	for _, r := range directly(t, top) {
		must.True(t, r.Hash != "" || r.Problem != "" || filepath.Base(r.Path) == "killed", "%s has no hash", r.Path)
		old, known := of[r.Study]
		must.True(t, !known || r.Study == "" || old == r.Hash, "%s: %s and %s", r.Study, old, r.Hash)
		of[r.Study] = r.Hash
	}
	must.True(t, of["study0"] != of["study1"] && of["recorded"] == session("x", "1s", result.Build{}).Settings.Hash(), "%v", of)
	for text, want := range map[string]string{"": "", "title: x\n": "", "name: a\n": "a", "profile: quick\nname: \"1e3\"\n": "1e3", "name: 'true'\n": "true", " name: x\n": "", "name:": ""} {
		must.EqualFor(t, fmt.Sprintf("%q has the name", text), want, studyName([]byte(text)))
	}
}

// EachRecord visits the oldest run first and reads only what is wanted; a corrupt run is
// among them, with its problem.
func TestEachRecord(t *testing.T) {
	top, whole := manyRuns(t)
	var ids []string
	problems := 0
	must.Do(t, EachRecord(top, func(Summary) bool { return true }, func(r Record) error {
		if r.Problem != "" {
			problems++
			must.True(t, len(ids) == whole && r.Run.Hosts == nil && strings.Contains(r.Problem, r.Path), "after %d: %+v", len(ids), r)
			return nil
		}
		ids = append(ids, r.ID)
		return nil
	}))
	want := []string{"", "id0", "id1", "id2", "id3", "id4", "id5", "id6", "id7", "s"}
	must.True(t, slices.Equal(slices.Sorted(slices.Values(ids)), want) && ids[len(ids)-1] == "s" && problems == 2, "%q, %d problems", ids, problems)
	stop := errors.New("enough")
	visited := 0
	err := EachRecord(top, func(s Summary) bool { return s.Study == "study1" }, func(r Record) error {
		visited++
		must.EqualFor(t, r, "study1", r.Study)
		return stop
	})
	must.True(t, errors.Is(err, stop) && visited == 1, "%v after %d", err, visited)
	if err := EachRecord(filepath.Join(top, "none"), nil, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A run is found by the path that the list has of it, and nothing else is.
func TestFind(t *testing.T) {
	top, _ := manyRuns(t)
	inside := filepath.Join(top, "recorded", "inside")
	putRun(t, inside, historic("inside", 1))
	putRun(t, filepath.Join(top, "a/b/c/deep"), historic("deep", 1))
	putRun(t, filepath.Join(top, ".hidden"), historic("hidden", 1))
	must.Do(t, os.Symlink(filepath.Join(top, "recorded"), filepath.Join(top, "link")), os.Symlink("study0", filepath.Join(top, "study")))
	all := must.Get(List(top))(t)
	for _, want := range all {
		rel := must.Get(filepath.Rel(top, want.Path))(t)
		must.EqualFor(t, rel, want, must.Get(Find(top, rel))(t))
	}
	must.EqualFor(t, "the run itself", "s", must.Get(Find(filepath.Join(top, "recorded"), "."))(t).ID)
	outside := "../" + filepath.Base(top) + "/recorded"
	for _, rel := range []string{"", ".", "..", "none", "study0", outside, "study0/../recorded", "recorded/", "/recorded", "recorded/inside", "a/b/c/deep", ".hidden", "link", "study/run0"} {
		found, err := Find(top, rel)
		must.True(t, errors.Is(err, fs.ErrNotExist), "%q: %+v, %v", rel, found, err)
	}
}
