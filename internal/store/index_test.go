package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/must"
	"tare/internal/result"
	"tare/internal/testneed"
)

// anyAge indexes runs however few and new they are.
func anyAge() indexOptions { return indexOptions{least: 1, settled: time.Now().Add(time.Hour)} }

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
			Ratio: new(ratio), RatioCI: &result.Interval{ratio - 0.1, ratio + 0.1}, P: new(0.5), Verdict: result.Worse, Margin: 0.05}
	}
	other := of("rtt_p50", 1.25)
	other.RatioCI, other.Margin, other.AtLeast, other.Indicative, other.Verdict = nil, 0.1, true, true, ""
	r.Cells = append(r.Cells, of("goodput", 0.9+float64(minutes)/1000), other, of("loss_ratio", 2))
	return r
}

// manyRuns is a directory with runs of each kind, of which the problems are not indexed.
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

// listWith returns the records of a directory as a list finds them, and how many came from
// the index.
func listWith(t *testing.T, top string, o indexOptions) (all []Record, indexed int) {
	t.Helper()
	l := must.Get(scan(top, o))(t)
	defer l.close()
	for _, r := range l.runs {
		if r.entry != nil && r.entry.block == nil {
			indexed++
		}
		rec := must.Get(l.record(r))(t)
		if diff := cmp.Diff(r.summary, rec.Summary); diff != "" {
			t.Errorf("%s: the record has another summary: %s", r.path, diff)
		}
		all = append(all, rec)
	}
	return all, indexed
}

// directly is what the directories themselves contain.
func directly(t *testing.T, top string) []Record {
	t.Helper()
	var out []Record
	for _, f := range must.Get(findRuns(top+"/", anyAge()))(t) {
		out = append(out, must.Get(readRecord(f.path, true))(t))
	}
	slices.SortStableFunc(out, func(a, b Record) int { return newestFirst(&a.Summary, &b.Summary) })
	return out
}

func sameRecords(t *testing.T, what string, got, want []Record) {
	t.Helper()
	must.EqualFor(t, what, want, got, cmpopts.EquateEmpty())
}

// What the index has of a run is what the run's directory says.
func TestIndexAgreesWithRuns(t *testing.T) {
	top, whole := manyRuns(t)
	want := directly(t, top)
	if len(want) != whole+2 || want[0].ID != "s" || want[0].Study != "recorded" || len(want[0].Run.Cells) != 3 || want[1].Study != "study1" {
		t.Fatalf("%+v", want)
	}
	for i, indexed := range []int{0, whole, whole} {
		got, from := listWith(t, top, anyAge())
		sameRecords(t, fmt.Sprint("pass ", i), got, want)
		if from != indexed {
			t.Errorf("pass %d: %d runs from the index, want %d", i, from, indexed)
		}
	}
	info := must.Get(os.Lstat(filepath.Join(top, IndexFile)))(t)
	if info.Mode() != 0o600 {
		t.Errorf("the index has mode %v", info.Mode())
	}
	// The same by another name of the directory.
	link := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(top, link))
	if got, from := listWith(t, link, anyAge()); from != whole || !strings.HasPrefix(got[0].Path, link) {
		t.Errorf("%d, %s", from, got[0].Path)
	}
}

// The hash tells studies apart, whatever their seed.
func TestHashOfStudy(t *testing.T) {
	top, _ := manyRuns(t)
	of := map[string]string{}
	for _, r := range directly(t, top) {
		if r.Hash == "" && r.Problem == "" && filepath.Base(r.Path) != "killed" {
			t.Errorf("%s has no hash", r.Path)
		}
		if old, known := of[r.Study]; known && r.Study != "" && old != r.Hash {
			t.Errorf("%s: %s and %s", r.Study, old, r.Hash)
		}
		of[r.Study] = r.Hash
	}
	if of["study0"] == of["study1"] || of["recorded"] != session("x", "1s", result.Build{}).Settings.Hash() {
		t.Errorf("%v", of)
	}
	for text, want := range map[string]string{"": "", "title: x\n": "", "name: a\n": "a", "profile: quick\nname: \"1e3\"\n": "1e3", "name: 'true'\n": "true", " name: x\n": "", "name:": ""} {
		if got := studyName([]byte(text)); got != want {
			t.Errorf("%q has the name %q, want %q", text, got, want)
		}
	}
}

// A run that changed in any way is read again, even if its size and times say nothing.
func TestIndexIsNotTrusted(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, top string){
		"replaced": func(t *testing.T, top string) { putRun(t, filepath.Join(top, "study0/run0"), historic("new", 70)) },
		"edited in place, with its times set back": func(t *testing.T, top string) {
			if runtime.GOOS != "linux" {
				testneed.Missing(t, testneed.Other, "only Linux records a time of change that cannot be set")
			}
			name := filepath.Join(top, "study0/run0", RunFile)
			info := must.Get(os.Stat(name))(t)
			text := bytes.Replace(must.Get(os.ReadFile(name))(t), []byte("id0"), []byte("di0"), 1)
			must.Do(t, os.WriteFile(name, text, 0o644), os.Chtimes(name, info.ModTime(), info.ModTime()))
		},
		"removed": func(t *testing.T, top string) { must.Do(t, os.RemoveAll(filepath.Join(top, "study0/run0"))) },
		"moved": func(t *testing.T, top string) {
			must.Do(t, os.Rename(filepath.Join(top, "study0/run0"), filepath.Join(top, "study0/moved")))
		},
		"exchanged": func(t *testing.T, top string) {
			must.Do(t, os.Rename(filepath.Join(top, "study0/run0"), filepath.Join(top, "x")), os.Rename(filepath.Join(top, "study0/run2"), filepath.Join(top, "study0/run0")),
				os.Rename(filepath.Join(top, "x"), filepath.Join(top, "study0/run2")))
		},
		"broken": func(t *testing.T, top string) {
			must.Do(t, os.WriteFile(filepath.Join(top, "study0/run0", RunFile), []byte("{"), 0o644))
		},
		"another study": func(t *testing.T, top string) {
			must.Do(t, os.WriteFile(filepath.Join(top, "study0/run0", StudyFile), []byte("name: b\n"), 0o644))
		},
		"a session was killed since": func(t *testing.T, top string) {
			d := must.Get(OpenAppend(filepath.Join(top, "recorded")))(t)
			must.Do(t, d.WriteSession(session("later", "2s", wholeRun().Tare)), d.Append(sample(1)), d.Close())
		},
		"new": func(t *testing.T, top string) { putRun(t, filepath.Join(top, "study9/run"), historic("new", 90)) },
		"a link instead": func(t *testing.T, top string) {
			name := filepath.Join(top, "study0/run0", RunFile)
			text := bytes.Replace(must.Get(os.ReadFile(name))(t), []byte("id0"), []byte("di0"), 1)
			must.Do(t, os.Remove(name), os.WriteFile(name+".old", text, 0o644), os.Symlink(RunFile+".old", name))
		},
		"all removed": func(t *testing.T, top string) {
			for _, e := range must.Get(os.ReadDir(top))(t) {
				if e.IsDir() {
					must.Do(t, os.RemoveAll(filepath.Join(top, e.Name())))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			top, _ := manyRuns(t)
			before, _ := listWith(t, top, anyAge())
			change(t, top)
			want := directly(t, top)
			if cmp.Equal(before, want, cmpopts.EquateEmpty()) {
				t.Fatal("nothing changed")
			}
			for range 2 {
				got, _ := listWith(t, top, anyAge())
				sameRecords(t, "after", got, want)
			}
		})
	}
}

// An index that is broken, hostile or somebody else's changes nothing, and is replaced.
func TestHostileIndex(t *testing.T) {
	top, whole := manyRuns(t)
	want, _ := listWith(t, top, anyAge())
	name := filepath.Join(top, IndexFile)
	good := must.Get(os.ReadFile(name))(t)
	other, _ := manyRuns(t)
	listWith(t, other, anyAge())
	put := func(data []byte) func() { return func() { must.Do(t, os.WriteFile(name, data, 0o600)) } }
	cases := map[string]func(){
		"empty": put(nil), "text": put([]byte("{}\n")), "another version": put(bytes.Replace(good, []byte("index/1"), []byte("index/2"), 1)),
		"of another directory": put(must.Get(os.ReadFile(filepath.Join(other, IndexFile)))(t)),
		"longer":               put(append(slices.Clone(good), 0)),
		"sparse":               func() { must.Do(t, os.WriteFile(name, good, 0o600), os.Truncate(name, 1<<40)) },
		"a link":               func() { must.Do(t, os.WriteFile(name+".target", good, 0o600), os.Symlink(IndexFile+".target", name)) },
		"a link to nothing":    func() { must.Do(t, os.Symlink("/nonexistent", name)) },
		"writable by others":   func() { must.Do(t, os.WriteFile(name, good, 0o600), os.Chmod(name, 0o666)) },
	}
	for at := 0; at < len(good); at += 1 + len(good)/20 {
		cases[fmt.Sprint("cut at ", at)] = put(good[:at])
		flipped := slices.Clone(good)
		flipped[at] ^= 0x21
		cases[fmt.Sprint("flipped at ", at)] = put(flipped)
	}
	for what, prepare := range cases {
		must.Do(t, os.RemoveAll(name))
		prepare()
		for range 2 {
			got, _ := listWith(t, top, anyAge())
			sameRecords(t, what, got, want)
		}
		if _, from := listWith(t, top, anyAge()); from != whole {
			t.Errorf("%s: %d runs from the index, want %d: it was not replaced", what, from, whole)
		}
	}
	// A directory cannot be replaced.
	must.Do(t, os.RemoveAll(name), os.MkdirAll(filepath.Join(name, "x"), 0o700))
	got, from := listWith(t, top, anyAge())
	sameRecords(t, "a directory", got, want)
	must.Equal(t, 0, from)
	if names := must.Get(filepath.Glob(name + ".*.tmp"))(t); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// A directory of an index that claims much takes little memory.
func TestIndexMemory(t *testing.T) {
	many := bytes.Repeat([]byte{0}, 2*maxTable)
	claim := func(n uint64, rest []byte) []byte {
		e := &encoder{}
		e.uint(n)
		return append(e.out, rest...)
	}
	texts := claim(1, claim(1, []byte("x")))
	for what, data := range map[string][]byte{
		"texts": claim(uint64(len(many)-8), many), "most texts": claim(mostTable, many), "all texts": claim(1<<63, many), "series": append(texts, claim(mostTable, many)...),
		"all series": append(texts, claim(1<<62, many)...), "entries": append(texts, append([]byte{0, 0}, claim(mostIndexed, many)...)...), "nothing": nil,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeDirectory(data, int64(headerSize))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err == nil || used > 96<<20 {
			t.Errorf("%s: %v, %d MB", what, err, used>>20)
		}
	}
}

// Few runs, and runs that changed just now, are not worth an index or not safe in one.
func TestWhenThereIsAnIndex(t *testing.T) {
	top, whole := manyRuns(t)
	name := filepath.Join(top, IndexFile)
	for _, o := range []indexOptions{{least: whole + 1, settled: time.Now().Add(time.Hour)}, {least: 1, settled: time.Now().Add(-time.Hour)}} {
		listWith(t, top, o)
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: an index was written: %v", o, err)
		}
	}
	listWith(t, top, indexOptions{least: whole, settled: time.Now().Add(time.Hour)})
	must.Get(os.Lstat(name))(t)
	must.Do(t, os.RemoveAll(filepath.Join(top, "study0")))
	listWith(t, top, indexOptions{least: whole, settled: time.Now().Add(time.Hour)})
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an index of too few runs remains: %v", err)
	}
	// An index that nobody finished is removed, another process's is not.
	old, young := name+".00000001.tmp", name+".00000002.tmp"
	must.Do(t, os.WriteFile(old, nil, 0o600), os.WriteFile(young, nil, 0o600), os.Chtimes(old, noon, time.Now().Add(-time.Hour)))
	listWith(t, top, anyAge())
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	must.Get(os.Lstat(young))(t)
}

// What only removed runs had in the table is removed with them, and nothing else.
func TestIndexIsRebuilt(t *testing.T) {
	top := t.TempDir()
	for i := range 40 {
		r := historic(fmt.Sprintf("id%d", i), i)
		r.Noisy = strings.Repeat(fmt.Sprint("text ", i), 200)
		putRun(t, filepath.Join(top, fmt.Sprint("run", i)), r)
	}
	listWith(t, top, anyAge())
	name := filepath.Join(top, IndexFile)
	before := must.Get(os.Stat(name))(t).Size()
	for i := range 36 {
		must.Do(t, os.RemoveAll(filepath.Join(top, fmt.Sprint("run", i))))
	}
	for range 2 {
		got, _ := listWith(t, top, anyAge())
		sameRecords(t, "after", got, directly(t, top))
	}
	if after := must.Get(os.Stat(name))(t).Size(); after > before/5 {
		t.Errorf("%d of %d bytes for a tenth of the runs", after, before)
	}
}

// A run that is too large for the index does not keep the others out.
func TestLargeRunIsNotIndexed(t *testing.T) {
	top, whole := manyRuns(t)
	large := historic("large", 5)
	large.Noisy = strings.Repeat("x", 3<<20)
	putRun(t, filepath.Join(top, "large"), large)
	want := directly(t, top)
	for i, indexed := range []int{0, whole} {
		got, from := listWith(t, top, anyAge())
		sameRecords(t, "with a large run", got, want)
		if from != indexed {
			t.Errorf("pass %d: %d from the index, want %d", i, from, indexed)
		}
	}
}

// Processes that list and write at once never see anything but the runs.
func TestIndexAtOnce(t *testing.T) {
	top, _ := manyRuns(t)
	want := directly(t, top)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for k := range 10 {
				if (i+k)%3 == 0 {
					_ = os.Remove(filepath.Join(top, IndexFile)) // another one may have removed it
				}
				got, _ := listWith(t, top, anyAge())
				sameRecords(t, "at once", got, want)
			}
		})
	}
	wait.Wait()
	if names := must.Get(filepath.Glob(filepath.Join(top, IndexFile+".*")))(t); len(names) > 0 {
		t.Errorf("left behind: %v", names)
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
			if len(ids) != whole || r.Run.Hosts != nil || !strings.Contains(r.Problem, r.Path) {
				t.Errorf("after %d: %+v", len(ids), r)
			}
			return nil
		}
		ids = append(ids, r.ID)
		return nil
	}))
	if want := []string{"", "id0", "id1", "id2", "id3", "id4", "id5", "id6", "id7", "s"}; !slices.Equal(slices.Sorted(slices.Values(ids)), want) || ids[len(ids)-1] != "s" || problems != 2 {
		t.Errorf("%q, %d problems", ids, problems)
	}
	stop := errors.New("enough")
	visited := 0
	err := EachRecord(top, func(s Summary) bool { return s.Study == "study1" }, func(r Record) error {
		visited++
		if r.Study != "study1" {
			t.Errorf("%+v", r)
		}
		return stop
	})
	if !errors.Is(err, stop) || visited != 1 {
		t.Errorf("%v after %d", err, visited)
	}
	if err := EachRecord(filepath.Join(top, "none"), nil, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
