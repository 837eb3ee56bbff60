package verdict

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

var studyB = []result.Scenario{
	{ID: "A", Mode: "host", Workload: "stream"},
	{ID: "B", Mode: "bridge", Workload: "stream"},
	{ID: "D", Mode: "overlay", Workload: "stream"},
	{ID: "E", Mode: "bridge", Workload: "segments"},
	{ID: "F", Mode: "overlay", Workload: "segments"},
}

var modesB = []result.Mode{
	{ID: "host", Status: result.ModeMeasured},
	{ID: "bridge", Status: result.ModeMeasured, Baseline: "host"},
	{ID: "overlay", Status: result.ModeMeasured, Baseline: "host"},
	{ID: "encrypted", Status: result.ModeUnsupported, Reason: "the kernel has no ESP", Baseline: "host"},
}

// of gives trials another workload.
func of(workload string, trials []result.Trial) []result.Trial {
	for i := range trials {
		trials[i].Workload = workload
	}
	return trials
}

var trialsB = blocks.Join(
	blocks.Rows("host", "goodput", 7000, 7100, 6900, 7000, 7000),
	blocks.Rows("bridge", "goodput", 1600, 1610, 1590, 1600, 1600),
	blocks.Rows("overlay", "goodput", 660, 664, 656, 660, 660),
	of("segments", blocks.Join(
		blocks.Rows("bridge", "goodput", 236, 237, 235, 236, 236),
		blocks.Rows("overlay", "goodput", 98, 99, 97, 98, 98),
	)),
)

type briefly struct {
	ID, A, B, Reason, Metric string
	N, Missing               int
	Ratio                    float64 // NaN: none
	Verdict                  result.Verdict
}

func shortly(cs []result.Comparison) []briefly {
	var out []briefly
	for _, c := range cs {
		b := briefly{c.ID, readings.Scope(c.A.ID, c.A.Mode, c.A.Workload), readings.Scope(c.B.ID, c.B.Mode, c.B.Workload), c.Reason, c.Metric, c.N, c.Missing, math.NaN(), c.Verdict}
		if c.Ratio != nil {
			b.Ratio = *c.Ratio
		}
		out = append(out, b)
	}
	return out
}

func TestCompare(t *testing.T) {
	none := math.NaN()
	both := []string{"stream", "segments"}
	for _, c := range []struct {
		name   string
		asked  []ComparisonRequest
		trials []result.Trial
		want   []briefly
	}{
		{"scenarios", []ComparisonRequest{{"D/B", "", []string{"D"}, []string{"B"}, 0}, {"F/E", "", []string{"F"}, []string{"E"}, 0}, {"A/D", "", []string{"A"}, []string{"D"}, 0}}, trialsB, []briefly{
			{"D/B", "D overlay stream", "B bridge stream", "", "goodput", 5, 0, 0.4125, result.Worse},
			{"F/E", "F overlay segments", "E bridge segments", "", "goodput", 5, 0, 0.4152, result.Worse},
			{"A/D", "A host stream", "D overlay stream", "", "goodput", 5, 0, 10.606, result.Better},
		}},
		{"two workloads of one mode", []ComparisonRequest{{"E/B", "", []string{"E"}, []string{"B"}, 0}}, trialsB, []briefly{
			{"E/B", "E bridge segments", "B bridge stream", "", "goodput", 5, 0, 0.1475, result.Worse},
		}},
		{"modes, in every workload", []ComparisonRequest{{"x", "", []string{"overlay"}, []string{"bridge"}, 0}}, trialsB, []briefly{
			{"x", "overlay overlay stream", "bridge bridge stream", "", "goodput", 5, 0, 0.4125, result.Worse},
			{"x", "overlay overlay segments", "bridge bridge segments", "", "goodput", 5, 0, 0.4152, result.Worse},
		}},
		{"a mode beside a scenario", []ComparisonRequest{{"x", "", []string{"overlay"}, []string{"E"}, 0}, {"y", "", []string{"E"}, []string{"overlay"}, 0}}, trialsB, []briefly{
			{"x", "overlay overlay segments", "E bridge segments", "", "goodput", 5, 0, 0.4152, result.Worse},
			{"y", "E bridge segments", "overlay overlay segments", "", "goodput", 5, 0, 2.4085, result.Better},
		}},
		{"unsupported, on either side", []ComparisonRequest{{"x", "", []string{"encrypted"}, []string{"bridge"}, 0}, {"y", "", []string{"D"}, []string{"encrypted"}, 0}}, trialsB, []briefly{
			{"x", "encrypted encrypted ", "bridge bridge ", "encrypted is unsupported: the kernel has no ESP", "", 0, 0, none, ""},
			{"y", "D overlay stream", "encrypted encrypted stream", "encrypted is unsupported: the kernel has no ESP", "", 0, 0, none, ""},
		}},
		{"not in the run", []ComparisonRequest{{"x", "", []string{"Z"}, []string{"bridge"}, 0}}, trialsB, []briefly{
			{"x", "Z Z ", "bridge bridge ", "Z is not a mode of the run", "", 0, 0, none, ""},
		}},
		{"no trial of one workload", []ComparisonRequest{{"x", "", []string{"overlay"}, []string{"host"}, 0}}, trialsB, []briefly{
			{"x", "overlay overlay stream", "host host stream", "", "goodput", 5, 0, 0.09429, result.Worse},
			{"x", "overlay overlay segments", "host host segments", "host has no valid trial of segments", "", 0, 0, none, ""},
		}},
		{"missing blocks", []ComparisonRequest{{"D/B", "", []string{"D"}, []string{"B"}, 0}}, append(blocks.Rows("bridge", "goodput", 10, 10, 10, 10), blocks.Row(2, "overlay", "goodput", 4), blocks.Row(3, "overlay", "goodput", 4.02),
			blocks.Row(4, "overlay", "goodput", 4), blocks.Row(9, "overlay", "goodput", 1)), []briefly{
			{"D/B", "D overlay stream", "B bridge stream", "", "goodput", 3, 2, 0.4007, result.Worse},
		}},
		{"no block has both", []ComparisonRequest{{"D/B", "", []string{"D"}, []string{"B"}, 0}}, []result.Trial{blocks.Row(1, "bridge", "goodput", 1), blocks.Row(2, "overlay", "goodput", 1)}, []briefly{
			{"D/B", "D overlay stream", "B bridge stream", "", "goodput", 0, 2, none, result.CannotTell},
		}},
		{"a zero leaves no ratio", []ComparisonRequest{{"D/B", "", []string{"D"}, []string{"B"}, 0}}, blocks.Join(blocks.Rows("bridge", "retransmits", 0, 1, 2), blocks.Rows("overlay", "retransmits", 5, 5, 5)), []briefly{
			{"D/B", "D overlay stream", "B bridge stream", "", "retransmits", 3, 0, none, result.CannotTell},
		}},
		{"nothing in common", []ComparisonRequest{{"D/B", "", []string{"D"}, []string{"B"}, 0}}, blocks.Join(blocks.Rows("bridge", "goodput", 1, 1, 1), blocks.Rows("overlay", "rtt_p50", 5, 5, 5)), []briefly{
			{"D/B", "D overlay stream", "B bridge stream", "they have no metric in common", "", 0, 0, none, ""},
		}},
		{"only what both have", []ComparisonRequest{{"D/B", "", []string{"D"}, []string{"B"}, 0}}, []result.Trial{
			{Block: 1, Mode: "bridge", Workload: "stream", Status: result.TrialOK, Metrics: map[string]float64{"goodput": 1, "retransmits": 4}},
			{Block: 1, Mode: "overlay", Workload: "stream", Status: result.TrialOK, Metrics: map[string]float64{"goodput": 2, "fairness": 1}}}, []briefly{
			{"D/B", "D overlay stream", "B bridge stream", "", "goodput", 1, 0, 2, result.CannotTell},
		}},
		{"nothing asked", nil, trialsB, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Comparisons(Input{Modes: modesB, Workloads: both, Trials: c.trials, Rule: Rule{Margin: 0.05}}, studyB, c.asked)
			must.Equal(t, c.want, shortly(got), cmpopts.EquateApprox(1e-3, 0), cmpopts.EquateNaNs())
			must.Get(store.EncodeRun(result.Run{Comparisons: got}))(t)
		})
	}
}

// A comparison of a mode with its baseline has the result of its cell.
func TestCompareAsCells(t *testing.T) {
	trials := blocks.Join(blocks.Rows("host", "goodput", 100, 104, 97, 99, 101), blocks.Rows("veth", "goodput", 93, 99, 94, 90, 97),
		of("rr", blocks.Join(blocks.Rows("host", "rtt_p50", 5, 6, 5, 5, 5.5), blocks.Rows("veth", "rtt_p50", 6, 6, 7, 5, 7))))
	rule := Rule{Margin: 0.05, Indicative: true}
	var cells []result.Cell
	all, _ := Cells(blocks.HostAnd(), []string{"stream", "rr"}, trials, rule)
	for _, c := range all {
		if c.Baseline != "" {
			c.Added = nil // a comparison may be of modes that are measured in different blocks
			cells = append(cells, c)
		}
	}
	var got []result.Cell
	for _, c := range Comparisons(Input{Modes: blocks.HostAnd(), Workloads: []string{"stream", "rr"}, Trials: trials, Rule: rule}, nil, []ComparisonRequest{{"", "", []string{"veth"}, []string{"host"}, 0}}) {
		got = append(got, c.Cell())
	}
	must.Equal(t, cells, got)
	must.Equal(t, 2, len(got))
}

// Holm works over what is compared in one metric, whatever the workload.
func TestCompareHolm(t *testing.T) {
	off := []float64{92, 95, 101, 94, 93}
	trials := blocks.Join(blocks.Rows("host", "goodput", 100, 100, 100, 100, 100), blocks.Rows("veth", "goodput", off...),
		of("other", blocks.Join(blocks.Rows("host", "goodput", 100, 100, 100, 100, 100), blocks.Rows("veth", "goodput", off...))))
	one := Comparisons(Input{Modes: blocks.HostAnd(), Workloads: []string{"stream"}, Trials: trials, Rule: Rule{Margin: 0.01}}, nil, []ComparisonRequest{{"x", "", []string{"veth"}, []string{"host"}, 0}})
	two := Comparisons(Input{Modes: blocks.HostAnd(), Workloads: []string{"stream", "other"}, Trials: trials, Rule: Rule{Margin: 0.01}}, nil, []ComparisonRequest{{"x", "", []string{"veth"}, []string{"host"}, 0}})
	must.True(t, len(one) == 1 && len(two) == 2 && math.Abs(*two[0].P-2**one[0].P) <= 1e-12 && one[0].Verdict == result.Worse, "alone %+v, among two %+v", one, two)
}

// A rate that the generator limited is a lower bound, on either side. That the same sender
// reached more on the other path remains a verdict; with an expected ratio only a verdict
// that is true for every value above the bound does.
func TestCompareAtLeast(t *testing.T) {
	slow := func(trials []result.Trial) []result.Trial { return limit(0.2, trials) }
	high, low := []float64{100, 101, 99, 100, 100}, []float64{80, 81, 79, 80, 80}
	for _, c := range []struct {
		name   string
		a, b   []result.Trial
		want   result.Verdict
		a2, b2 bool
		expect float64
	}{
		{"a higher, though a lower bound", slow(blocks.Rows("veth", "goodput", high...)), blocks.Rows("host", "goodput", low...), result.Better, true, false, 0},
		{"a lower, and a lower bound", slow(blocks.Rows("veth", "goodput", low...)), blocks.Rows("host", "goodput", high...), result.Worse, true, false, 0},
		{"a lower, and b would be higher still", blocks.Rows("veth", "goodput", low...), slow(blocks.Rows("host", "goodput", high...)), result.Worse, false, true, 0},
		{"a higher, though b is a lower bound", blocks.Rows("veth", "goodput", high...), slow(blocks.Rows("host", "goodput", low...)), result.Better, false, true, 0},
		{"Alike, by one sender's limit", slow(blocks.Rows("veth", "goodput", high...)), slow(blocks.Rows("host", "goodput", high...)), result.CannotTell, true, true, 0},
		{"short of what was expected, but may be more", slow(blocks.Rows("veth", "goodput", high...)), blocks.Rows("host", "goodput", low...), result.CannotTell, true, false, 2},
		{"more than was expected, and may be more", slow(blocks.Rows("veth", "goodput", high...)), blocks.Rows("host", "goodput", low...), result.Better, true, false, 1.1},
		{"more than was expected, but b may be too", blocks.Rows("veth", "goodput", high...), slow(blocks.Rows("host", "goodput", low...)), result.CannotTell, false, true, 1.1},
	} {
		got := Comparisons(Input{Modes: blocks.HostAnd(), Workloads: []string{"stream"}, Trials: blocks.Join(c.a, c.b), Rule: Rule{Margin: 0.05}}, nil, []ComparisonRequest{{"x", "", []string{"veth"}, []string{"host"}, c.expect}})
		must.True(t, len(got) == 1 && got[0].Verdict == c.want && got[0].A.AtLeast == c.a2 && got[0].B.AtLeast == c.b2 && got[0].BlocksNeeded == nil, "%s: %+v", c.name, got)
	}
}

// What a study named and asked for is read back as it was written, and a run from
// before there was such a thing has none of it.
func TestStudyInRunJSON(t *testing.T) {
	run := result.Run{Schema: result.Schema, Modes: modesB, Scenarios: studyB, Hosts: []result.Host{}, Cells: []result.Cell{}, Warnings: []result.Warning{},
		Comparisons: Comparisons(Input{Modes: modesB, Trials: trialsB, Rule: Rule{Margin: 0.05}}, studyB, []ComparisonRequest{{"D/B", "what the SDN takes", []string{"D"}, []string{"B"}, 0}, {"x", "", []string{"encrypted"}, []string{"B"}, 0}})}
	run.Modes[1].Mode, run.Modes[1].Description, run.Modes[1].Facts = "docker/bridge", "as it comes", []result.Fact{{Name: "client limit", Value: "0.5 CPUs"}}
	path := filepath.Join(t.TempDir(), "run")
	d := must.Get(store.Create(path))(t)
	defer d.Close()
	must.Do(t, d.WriteRun(run))
	got, _, err := d.Load()
	if d := cmp.Diff(run, got); err != nil || d != "" {
		t.Errorf("%v: %s", err, d)
	}
	text := `{"schema": "tare.run/1", "modes": [{"id": "host", "title": "t", "status": "measured"}], "cells": []}`
	must.Do(t, os.WriteFile(filepath.Join(path, store.RunFile), []byte(text), 0o600))
	old, _, err := d.Load()
	must.True(t, err == nil && old.Scenarios == nil && old.Comparisons == nil && old.Modes[0].Facts == nil, "%+v: %v", old, err)
}
