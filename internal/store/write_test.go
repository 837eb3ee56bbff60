package store

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

func TestAppendRefuses(t *testing.T) {
	d := created(t)
	must.Do(t, d.Append(sample(1)))
	for want, spoil := range map[string]func(*result.Trial){
		"metric goodput is NaN":                 func(t *result.Trial) { t.Metrics["goodput"] = math.NaN() },
		"metric goodput is -Inf":                func(t *result.Trial) { t.Metrics["goodput"] = math.Inf(-1) },
		"elapsed is +Inf":                       func(t *result.Trial) { t.Elapsed = math.Inf(1) },
		"settle is NaN":                         func(t *result.Trial) { t.Settle = math.NaN() },
		"traffic is NaN":                        func(t *result.Trial) { t.Traffic = math.NaN() },
		"rtt of the client is NaN":              func(t *result.Trial) { *t.Client.RTT = math.NaN() },
		"rtt of the server is NaN":              func(t *result.Trial) { t.Server.RTT = new(math.NaN()) },
		"interval of the goodput series is NaN": func(t *result.Trial) { t.Series.Interval = math.NaN() },
		"value 2 of the goodput series is NaN":  func(t *result.Trial) { t.Series.Values[1] = math.NaN() },
		"backlog of step 2 is NaN":              func(t *result.Trial) { t.Steps = []result.Step{{}, {Backlog: math.NaN()}} },
		"load of step 1 is +Inf":                func(t *result.Trial) { t.Steps = []result.Step{{Load: math.Inf(1)}} },
		"seconds of the search is NaN":          func(t *result.Trial) { t.Search = &result.Search{Seconds: math.NaN()} },
		"upper bound of throughput_0 is +Inf": func(t *result.Trial) {
			t.Search = &result.Search{Goals: []result.SearchGoal{{Metric: "throughput_0", Lower: new(1.0), Upper: new(math.Inf(1))}}}
		},
		"no mode":               func(t *result.Trial) { t.Mode = "" },
		"no workload":           func(t *result.Trial) { t.Workload = "" },
		`unknown status "fine"`: func(t *result.Trial) { t.Status = "fine" },
		`schema "tare.trial/2", but this version of tare reads only "tare.trial/1": use the version that wrote it, or a later one`: func(t *result.Trial) { t.Schema = "tare.trial/2" },
		fmt.Sprintf("at most %d", maxLine): func(t *result.Trial) { t.Reason = strings.Repeat("x", maxLine) },
	} {
		bad := sample(7)
		spoil(&bad)
		if err := d.Append(bad); err == nil || !strings.HasSuffix(err.Error(), want) || !strings.Contains(err.Error(), "append trial 7 to "+d.Path()) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	bare := result.Trial{Seq: 2, Mode: "m", Workload: "w", Status: result.TrialFailed}
	must.Do(t, d.Append(bare)) // and nothing was left behind
	must.Contain(t, string(must.Get(os.ReadFile(filepath.Join(d.Path(), TrialsFile)))(t)), "a <b> &")
	_, trials := must.Get2(d.Load())(t)
	bare.Schema = result.TrialSchema
	must.Equal(t, []result.Trial{sample(1), bare}, trials)
}

// After a write that failed half way, nothing may follow on the same line.
func TestAppendAfterFailure(t *testing.T) {
	d := created(t)
	must.Do(t, d.Append(sample(1)))
	d.trials.Close() // the next write fails
	for range 2 {
		must.FailFor(t, "appended", d.Append(sample(2)))
	}
	must.True(t, d.broken != nil, "not held to be broken")
}

func TestEncodeRunRefuses(t *testing.T) {
	nan := math.NaN()
	for want, cell := range map[string]result.Cell{
		"value":      {Value: &nan},
		"ci":         {CI: &result.Interval{0, nan}},
		"ratio":      {Judgement: result.Judgement{Ratio: &nan}},
		"ratio_ci":   {Judgement: result.Judgement{RatioCI: &result.Interval{math.Inf(-1), 0}}},
		"p":          {Judgement: result.Judgement{P: &nan}},
		"margin":     {Judgement: result.Judgement{Margin: nan}},
		"detectable": {Judgement: result.Judgement{Detectable: &nan}},
	} {
		cell.Mode, cell.Workload, cell.Metric = "m", "w", "goodput"
		_, err := EncodeRun(result.Run{Cells: []result.Cell{cell}})
		want := "encode run: cell m w goodput: " + want + " is not a finite number"
		must.True(t, err != nil && err.Error() == want, "%v, want %s", err, want)
	}
	data := string(must.Get(EncodeRun(result.Run{}))(t))
	must.Contain(t, data, `"schema": "tare.run/1"`, `"hosts": []`, `"modes": []`, `"cells": []`, `"warnings": []`)
}

func TestWriteFileRefuses(t *testing.T) {
	d := created(t)
	outside := t.TempDir()
	must.Do(t, os.Symlink(outside, filepath.Join(d.Path(), "link")))
	for _, name := range []string{
		"", ".", "..", "../x", "figures/../../x", "/etc/x", "a/b/c", "./x", "figures/", "figures//x", `figures\x`, "x\x00",
		RunFile, TrialsFile, StudyFile, SessionsFile, lockFile, "./" + RunFile, "link/x",
	} {
		must.Fail(t, d.WriteFile(name, []byte("x")), d.Path())
	}
	left := must.Get(os.ReadDir(outside))(t)
	must.True(t, len(left) <= 0, "wrote outside: %v", left)
	// The last step fails: a folder is in the place of the file.
	must.Do(t, d.WriteFile("folder/x", nil))
	must.FailFor(t, "a file took a folder's place", d.WriteFile("folder", nil))
	must.EqualFor(t, "beside .lock, folder, link and the trials is left behind", 4, len(must.Get(d.names())(t)))
}

// JSON has no word for an infinite figure.
func TestComparisonNotFinite(t *testing.T) {
	for _, c := range []result.Comparison{{ID: "x", Judgement: result.Judgement{Ratio: new(math.Inf(1))}}, {ID: "x", B: result.Side{Value: new(math.NaN())}}, {ID: "x", A: result.Side{CI: &result.Interval{0, math.Inf(1)}}}} {
		must.FailFor(t, fmt.Sprintf("%+v was written", c), must.Err(EncodeRun(result.Run{Comparisons: []result.Comparison{c}})))
	}
}
