package store

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// sample is a trial with every field set.
func sample(seq int) result.Trial {
	return result.Trial{
		Schema: result.TrialSchema, Seq: seq, Block: 2, Mode: "netns/bridge", Workload: "tcp_stream", Attempt: 2,
		Status: result.TrialOK, Reason: "a <b> & \"c\"\nd", Started: noon.Add(time.Duration(seq) * time.Minute),
		Settle: 0.3, Elapsed: 2.51, Traffic: 2, Metrics: map[string]float64{"goodput": 9.41e9, "retransmits": 0},
		Client:   &result.End{CPU: new(0), Congestion: "cubic", SendBuffer: 4096, ReceiveBuffer: 8192, MSS: 1448, Retransmits: new(int64(3)), RTT: new(4.2e-5), Sent: 17, Received: 4},
		Server:   &result.End{Received: 17},
		Series:   &result.Series{Metric: "goodput", Interval: 0.1, Values: []float64{9e9, 0, 9.5e9}},
		Counters: map[string]uint64{"veth0 rx_packets": math.MaxUint64},
	}
}

func wholeRun() result.Run {
	return result.Run{
		Schema: result.Schema, ID: "r1", Started: noon, Finished: noon.Add(time.Hour), Status: result.RunComplete,
		Tare: result.Build{Version: "v0.1.0", Commit: "abc"}, Seed: math.MaxUint64, Profile: "standard",
		Hosts:  []result.Host{{Name: "a", Facts: []result.Fact{{Name: "kernel", Value: "6.18"}}}},
		Modes:  []result.Mode{{ID: "host", Title: "Host", Status: result.ModeMeasured, Topology: &result.Topology{Nodes: []result.Node{{ID: "n"}}, Edges: []result.Edge{{From: "n", To: "n"}}}}},
		Cells:  []result.Cell{{Mode: "host", Workload: "w", Metric: "goodput", N: 1, Value: new(1.5), CI: &result.Interval{1, 2}}},
		Trials: result.Tally{OK: 2}, Warnings: []result.Warning{{Code: "c", Scope: "run", Text: "t"}},
	}
}

func created(t *testing.T) *Dir {
	t.Helper()
	d := must.Get(Create(filepath.Join(t.TempDir(), "run")))(t)
	t.Cleanup(func() { d.Close() })
	return d
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "down", "run")
	d := must.Get(Create(path + "/"))(t)
	must.Equal(t, path, d.Path())
	must.Do(t, d.WriteStudy([]byte("name: x\n")), d.Append(sample(1)), d.Append(sample(2)), d.WriteRun(result.Run{}), d.WriteRun(wholeRun()),
		d.WriteFile("report.html", []byte("old")), d.WriteFile("report.html", []byte("new")), d.WriteFile("figures/a.svg", []byte("<svg/>")), d.WriteFile("figures/b.svg", nil),
		d.Close(), d.Close())

	d = must.Get(Open(path))(t)
	defer d.Close()
	run, trials := must.Get2(d.Load())(t)
	must.Equal(t, wholeRun(), run)
	must.Equal(t, []result.Trial{sample(1), sample(2)}, trials)
	// What was written, and nothing beside it.
	want := map[string]string{"study.yaml": "name: x\n", "report.html": "new", "figures/a.svg": "<svg/>", "figures/b.svg": "", "run.json": "*", "trials.ndjson": "*"}
	got := map[string]string{}
	must.Do(t, filepath.WalkDir(path, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := must.Get(filepath.Rel(path, p))(t)
		got[name] = string(must.Get(os.ReadFile(p))(t))
		if want[name] == "*" {
			got[name] = "*"
		}
		info := must.Get(e.Info())(t)
		must.True(t, info.Mode().Perm()&0o600 == 0o600 && (name != "report.html" || info.Mode().Perm()&0o044 != 0), "%s: mode %v", name, info.Mode())
		return nil
	}))
	must.Equal(t, want, got)
}

func TestCreateRefuses(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{RunFile, "not an empty directory: it contains the run.json of another run"},
		{TrialsFile, "not an empty directory: it contains the trials.ndjson of another run"},
		{StudyFile, "not an empty directory: it contains the study.yaml of another run"},
		{"notes.txt", "not an empty directory: it contains notes.txt"},
	} {
		path := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(path, c.file), []byte("mine"), 0o644))
		_, err := Create(path)
		must.True(t, errors.Is(err, ErrExists) && err.Error() == "create run directory "+path+": "+c.want, "%s: %v", c.file, err)
		data, _ := os.ReadFile(filepath.Join(path, c.file))
		must.True(t, string(data) == "mine", "%s became %q", c.file, data)
	}
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	for _, path := range []string{file, filepath.Join(file, "run")} {
		if _, err := Create(path); err == nil || errors.Is(err, ErrExists) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "not a directory") {
			t.Errorf("%s: %v", path, err)
		}
	}
	empty := t.TempDir()
	d := must.Get(Create(empty))(t)
	defer d.Close()
	_, err := Create(empty)
	must.True(t, errors.Is(err, ErrExists), "a second time: %v", err)
}

func TestCreateNotWritable(t *testing.T) {
	parent := t.TempDir()
	must.Do(t, os.Chmod(parent, 0o500))
	if probe, err := os.Create(filepath.Join(parent, "probe")); err == nil {
		probe.Close()
		testneed.Missing(t, testneed.Other, "this user may write to a directory of mode 0500")
	}
	for _, path := range []string{parent, filepath.Join(parent, "run")} {
		_, err := Create(path)
		must.True(t, errors.Is(err, os.ErrPermission) && strings.Contains(err.Error(), path), "%s: %v", path, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	path := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(path, StudyFile), nil, 0o644)) // anybody's
	for _, open := range []func(string) (*Dir, error){Open, OpenAppend} {
		_, err := open(path)
		must.True(t, errors.Is(err, ErrNotRun) && strings.Contains(err.Error(), path), "no run: %v", err)
		if _, err := open(filepath.Join(path, "none")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("nothing there: %v", err)
		}
	}
}

func TestOneWriter(t *testing.T) {
	d := created(t)
	_, err := OpenAppend(d.Path())
	must.True(t, errors.Is(err, ErrInUse), "while the run goes on: %v", err)
	reader := must.Get(Open(d.Path()))(t) // a report meanwhile is fine
	defer reader.Close()
	must.FailFor(t, "a reader appended", reader.Append(sample(1)))
	must.Do(t, reader.WriteFile("report.html", nil), d.Close())
	d = must.Get(OpenAppend(d.Path()))(t)
	must.Do(t, d.Append(sample(1)), d.Close())
}
