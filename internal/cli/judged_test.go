//go:build linux

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis/verdict"
	"tare/internal/cli"
	"tare/internal/cli/rundir"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// A run that lost its run.json is judged from its trials and its study as it was judged
// when it ended; and one that was killed in the middle is, too, its control beside the
// baseline that the study gives it.
func TestFaultsKilledRunIsJudged(t *testing.T) {
	t.Parallel()
	needLab(t)
	text := strings.Replace(longStudy, "settle: 10ms", "settle: 10ms\ncost_pass: {rate: auto, warmup: 50ms, duration: 500ms}", 1) +
		"  - {workload: udp_stream, warmup: 50ms, duration: 500ms}\n"
	text = strings.ReplaceAll(text, "duration: 500ms", "duration: 200ms")
	dir := studyIn(t, strings.Replace(text, "blocks: 20", "blocks: 2", 1))
	whole := filepath.Join(dir, "whole")
	start(t, dir, "run", "study.yaml", "--control", "--seed", "5", "--out", whole).ends(t, 0)
	judgedAlike(t, whole)

	dir = studyIn(t, text)
	out := filepath.Join(dir, "killed")
	p := start(t, dir, "run", "study.yaml", "--control", "--seed", "5", "--out", out)
	until(t, "the first block and a part of the second, and datagrams, whose trials fail on a busy machine", func() bool {
		if trialsIn(out) < 12 {
			return false
		}
		in, err := rundir.Reader{Hosts: cli.New(result.Build{}).Hosts}.Load(out)
		return err == nil && len(in.Run.Losses) > 0
	})
	must.Do(t, p.cmd.Process.Kill())
	p.wait(t)
	until(t, "gc to remove what it left", func() bool {
		p := start(t, dir, "gc")
		return p.wait(t) == 0
	})
	run := must.Get(rundir.Reader{Hosts: cli.New(result.Build{}).Hosts}.Load(out))(t).Run
	must.Equal(t, modesAsked(readRun(t, whole)), modesAsked(run))
	must.True(t, len(run.ID) == 8 && run.Profile == "quick" && run.Tare.Version != "" && len(run.Hosts) == 2 && len(run.Hosts[0].Facts) != 0 && run.Modes[0].Topology != nil,
		"not known of the killed run: id %q, profile %q, build %q, hosts %+v", run.ID, run.Profile, run.Tare, run.Hosts)
	controls, losses, limits := 0, len(run.Losses), len(run.TCPLimits)
	for _, c := range run.Cells {
		if c.Mode == "control" {
			controls++
			_, tail := result.BeyondP99(c.Metric)
			if c.Baseline != "host" || c.Verdict == "" && !verdict.Uncompared(c.Metric) && !tail {
				t.Errorf("the control's %s of %s is compared with %q: %q", c.Metric, c.Workload, c.Baseline, c.Verdict)
			}
		}
	}
	must.True(t, controls != 0 && losses != 0 && limits != 0 && run.CostPass != nil,
		"%d cells of the control, %d losses, %d TCP limits, cost pass %v", controls, losses, limits, run.CostPass)
	if p := start(t, dir, "report", out); p.wait(t) != 0 || !strings.Contains(p.stdout.String(), "control") {
		t.Errorf("report of a killed run:\n%s%s", p.stdout.String(), p.stderr.String())
	}
}

// judgedAlike compares a run's run.json with what its trials, its study and these other files of it give without it.
func judgedAlike(t *testing.T, dir string, others ...string) {
	t.Helper()
	bare := filepath.Join(t.TempDir(), "bare")
	must.Do(t, os.Mkdir(bare, 0o700))
	for _, name := range append(others, store.StudyFile, store.TrialsFile) {
		data := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		must.Do(t, os.WriteFile(filepath.Join(bare, name), data, 0o600))
	}
	want := readRun(t, dir)
	got := must.Get(rundir.Reader{Hosts: cli.New(result.Build{}).Hosts}.Load(bare))(t).Run
	if !slices.ContainsFunc(want.Cells, func(c result.Cell) bool { return c.FlipP != nil }) { // of a program without that test
		for i := range got.Cells {
			got.Cells[i].FlipP = nil
		}
	}
	if want.Tare.Version == recordedBy { // which did not know this warning
		got.Warnings = slices.DeleteFunc(got.Warnings, func(w result.Warning) bool { return w.Code == "busy_run" })
	}
	for _, w := range got.Warnings {
		must.True(t, slices.Contains(want.Warnings, w), "only without run.json: %+v", w)
	}
	for _, part := range []struct {
		name      string
		want, got any
	}{
		{"modes", modesAsked(want), modesAsked(got)},
		{"trials", want.Trials, got.Trials},
		{"noisy", want.Noisy, got.Noisy},
		{"cells", withoutTails(want.Cells), got.Cells},
		{"comparisons", slices.DeleteFunc(slices.Clone(want.Comparisons), func(c result.Comparison) bool {
			_, beyond := result.BeyondP99(c.Metric)
			return beyond
		}), got.Comparisons},
		{"scenarios", want.Scenarios, got.Scenarios},
		{"agreements", want.Agreements, got.Agreements},
		{"losses", want.Losses, got.Losses},
		{"TCP limits", want.TCPLimits, got.TCPLimits},
		{"breakdowns", want.Breakdowns, got.Breakdowns},
		{"link limits", want.LinkLimited, got.LinkLimited},
		{"ECDFs", want.ECDFs, got.ECDFs},
		{"cost pass", want.CostPass, got.CostPass},
		{"warnings", followed(want.Warnings), followed(got.Warnings)},
	} {
		if diff := cmp.Diff(asJSON(t, part.want), asJSON(t, part.got)); diff != "" {
			t.Errorf("%s of %s without run.json (-with +without):\n%s", part.name, dir, diff)
		}
	}
}

// withoutTails are cells as runs with fewer verdicts have them.
func withoutTails(cells []result.Cell) []result.Cell {
	out := slices.Clone(cells)
	for i := range out {
		out[i] = verdict.WithoutTails(out[i])
	}
	return out
}

// modesAsked are the measured modes of a run as far as its study and its trials tell.
func modesAsked(run result.Run) []result.Mode {
	var out []result.Mode
	for _, m := range run.Modes {
		if m.Status == result.ModeMeasured {
			out = append(out, result.Mode{ID: m.ID, Mode: m.Mode, Title: m.Title, Description: m.Description, Status: m.Status, Baseline: m.Baseline, Control: m.Control})
		}
	}
	return out
}

// followed are the warnings that follow from trials. What the controller alone can tell is
// left out: of what it found before the trials and around them, and of paths and network
// stacks, of which a run that was killed has written nothing down.
func followed(warnings []result.Warning) []result.Warning {
	codes := []string{"invalid_trials", "busy_turns", "busy_run", "stacks_unknown", "stacks_lost", "link_limited", "underlay_saturated", "core_saturated", "bbr_paces",
		"mss_differs", "congestion_control", "congestion_differs", "buffers_differ", "buffer_clamped", "memory_pressure", "swapping", "oom_kill", "cpu_pressure",
		"conntrack_full", "two_bands", "beats_baseline", "control_differs", "unknown_metric", "bad_value", "tools_disagree", "cost_pass_missing"}
	return slices.DeleteFunc(slices.Clone(warnings), func(w result.Warning) bool { return !slices.Contains(codes, w.Code) })
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	return strings.ReplaceAll(string(must.Get(json.MarshalIndent(v, "", " "))(t)), "null", "[]")
}
