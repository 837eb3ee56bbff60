package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/cli/selection"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/wording"
	"tare/studies"
)

// statedClaim is a claim of a made-up study, without an outcome.
func statedClaim() result.Claim {
	return result.Claim{ID: "tcp", Claim: "Ports cost nothing", Source: "somebody, 2016", Of: []string{"docker", "raw"}, HoldsIf: "same", Published: "0.992"}
}

// found is the claim with an outcome, and what only a run knows of it.
func found(outcome result.ClaimOutcome, reason string) result.Claim {
	c := statedClaim()
	v := 0.9
	c.Metric, c.Workload, c.Outcome, c.Reason, c.Value, c.CI = "goodput", "tcp_stream", outcome, reason, &v, &result.Interval{0.88, 0.92}
	return c
}

// putRun writes a run of a study, made so many minutes after noon.
func putRun(t *testing.T, path, study string, minutes int, status result.RunStatus, claims ...result.Claim) {
	t.Helper()
	dir := must.Get(store.Create(path))(t)
	run := result.Run{Schema: result.Schema, ID: fmt.Sprintf("%08d", minutes), Started: time.Date(2026, 8, 1, 12, minutes, 0, 0, time.UTC), Status: status, Profile: "quick",
		Hosts: []result.Host{{Name: "a", Facts: []result.Fact{{Name: "kernel", Value: "6.18"}, {Name: "cpu_model", Value: "Some CPU"}, {Name: "other", Value: "x"}}}},
		Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}}, Trials: result.Tally{OK: minutes}, Claims: claims}
	must.Do(t, errors.Join(dir.WriteStudy([]byte("name: "+study+"\n")), dir.WriteRun(run), dir.Close()))
}

// The newest complete run of a study with its claims counts, and no other.
func TestTakeOutcomes(t *testing.T) {
	top := t.TempDir()
	other := found(result.ClaimHolds, "of another claim")
	other.HoldsIf = "lower"
	moved := found(result.ClaimHolds, "of other modes")
	moved.Of = []string{"docker", "vxlan"}
	putRun(t, filepath.Join(top, "old"), "ports", 1, result.RunComplete, found(result.ClaimHolds, "old"))
	putRun(t, filepath.Join(top, "newest that counts"), "ports", 2, result.RunComplete, result.Claim{ID: "more", Outcome: result.ClaimHolds}, found(result.ClaimDoesNotHold, "newest"))
	putRun(t, filepath.Join(top, "another claim"), "ports", 3, result.RunComplete, other)
	putRun(t, filepath.Join(top, "other modes"), "ports", 4, result.RunComplete, moved)
	putRun(t, filepath.Join(top, "no claims"), "ports", 5, result.RunComplete)
	putRun(t, filepath.Join(top, "interrupted"), "ports", 6, result.RunInterrupted, found(result.ClaimHolds, "interrupted"))
	putRun(t, filepath.Join(top, "without a trial"), "empty", 0, result.RunComplete, found(result.ClaimHolds, "nothing"))
	putRun(t, filepath.Join(top, "another study"), "other", 7, result.RunComplete, found(result.ClaimHolds, "another study"))
	for _, name := range []string{"broken1", "broken2"} {
		path := filepath.Join(top, name)
		must.Do(t, errors.Join(os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, store.RunFile), []byte(`{"schema":"tare.run/9"}`), 0o600)))
	}
	// Its controller was resumed and killed after run.json was written.
	putRun(t, filepath.Join(top, "resumed"), "ports", 8, result.RunComplete, found(result.ClaimHolds, "resumed"))
	dir := must.Get(store.OpenAppend(filepath.Join(top, "resumed")))(t)
	must.Do(t, errors.Join(dir.WriteSession(result.Session{Run: result.Run{Schema: result.Schema, ID: "later"}}), dir.Close()))

	all := []result.StudyClaims{{Study: "ports", Claims: []result.Claim{statedClaim()}}, {Study: "sdn", Claims: []result.Claim{statedClaim()}}, {Study: "empty", Claims: []result.Claim{statedClaim()}}}
	got, broken := must.Get2(takeOutcomes(all, top))(t)
	if c := got[0]; filepath.Base(c.Run) != "newest that counts" || len(c.Claims) != 1 || c.Claims[0].Reason != "newest" || c.Machine != "kernel 6.18, Some CPU" || c.Started.Minute() != 2 {
		t.Errorf("of ports: %+v", c)
	}
	for _, c := range got[1:] {
		must.True(t, c.Run == "" && c.Claims[0].Outcome == "", "of a study that was not run, or without a valid trial: %+v", c)
	}
	must.True(t, all[0].Run == "" && all[0].Claims[0].Outcome == "", "the argument was changed")
	if text := unreadable(broken, top); len(broken) != 2 || text != "2 runs cannot be read: broken1, broken2; tare ls "+command.Quote(top)+" says why" {
		t.Errorf("broken: %q, %q", broken, text)
	}
	must.Equal(t, "5 runs cannot be read: 1, 2, 3, 2 more; tare ls d says why", unreadable([]string{"d/1", "d/2", "d/3", "d/4", "d/5"}, "d"))
}

func TestPrintClaims(t *testing.T) {
	top := t.TempDir()
	putRun(t, filepath.Join(top, "r"), "ports", 1, result.RunComplete, found(result.ClaimDoesNotHold, "0.88 to 0.92 is below 0.95"))
	all := []result.StudyClaims{{Study: "ports", Title: "Ports", Command: "tare run ports --claims", Claims: []result.Claim{statedClaim()}},
		{Study: "sdn", Title: "Switches", Command: "tare run sdn --claims", Claims: []result.Claim{statedClaim()}}}
	show := func(f claimsFlags) (string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		must.Do(t, commands{Streams: command.Streams{Stdout: &out, Stderr: &errs}}.printClaims(all, f))
		return out.String(), errs.String()
	}
	text, errs := show(claimsFlags{runs: top, format: "text"})
	must.Contain(t, text, "- does not hold  Ports cost nothing", "published: 0.992; here: 0.90 (0.88-0.92)", "not run: tare run sdn --claims", "Claims: 1 does not hold, 1 not run.", "kernel 6.18, Some CPU")
	for line := range strings.Lines(text) {
		if w := wording.Width(strings.TrimRight(line, "\n")); w > 100 {
			t.Errorf("%d columns: %s", w, line)
		}
	}
	must.Equal(t, "", errs)
	md, _ := show(claimsFlags{runs: top, format: "md"})
	must.Contain(t, md, "| Ports cost nothing | somebody, 2016 | 0.992 | 0.90 (0.88-0.92) | does not hold; 0.88 to 0.92 is below 0.95 |")
	text, _ = show(claimsFlags{runs: top, format: "json"})
	var read struct{ Studies []result.StudyClaims }
	if err := json.Unmarshal([]byte(text), &read); err != nil || len(read.Studies) != 2 || read.Studies[0].Claims[0].Outcome != result.ClaimDoesNotHold || read.Studies[1].Run != "" {
		t.Errorf("JSON: %v\n%s", err, text)
	}

	t.Setenv("TARE_RUNS", filepath.Join(top, "none"))
	if text, errs := show(claimsFlags{format: "text"}); !strings.Contains(text, "Claims: 2 not run.") || errs != "" {
		t.Errorf("without a directory of runs:\n%s%s", text, errs)
	}
	err := commands{}.printClaims(all, claimsFlags{runs: filepath.Join(top, "none"), format: "text"})
	must.True(t, command.ExitCode(err) == command.ExitUsage, "a directory that does not exist: %v", err)
}

// The first screen is the table of claims with --claims, and counts them without. What cannot be shown is refused before anything
// is written.
func TestReportClaims(t *testing.T) {
	t.Chdir(t.TempDir())
	putRun(t, "none", "default", 1, result.RunComplete)
	putRun(t, "some", "ports", 1, result.RunComplete, found(result.ClaimHolds, "it is so"))
	for _, c := range []struct {
		args           []string
		code           int
		want, not, err string
	}{
		{[]string{"--claims", "none"}, command.ExitUsage, "", "claims", "the run none has no claims"},
		{[]string{"--claims", "--full", "some"}, command.ExitUsage, "", "claims", "--claims prints one screen"},
		{[]string{"some"}, 0, "Claims: 1 holds: tare report --claims", "Ports cost nothing", ""},
		{[]string{"--claims", "some"}, 0, "+ holds  Ports cost nothing", "tare report --claims", ""},
		{[]string{"--claims", "--quiet", "some"}, 0, "+ holds  Ports cost nothing", "More:", ""},
		{[]string{"--full", "some"}, 0, "What was claimed, what was found", "tare report --claims", ""},
	} {
		var out bytes.Buffer
		shown := commands{Streams: command.Streams{Stdout: &out, Stderr: &out}, runs: rundir.Reader{Hosts: selection.New(command.Streams{})}}.reportCommand()
		shown.SilenceErrors, shown.SilenceUsage = true, true
		shown.SetArgs(c.args)
		err := shown.Execute()
		must.True(t, command.ExitCode(err) == c.code && strings.Contains(fmt.Sprint(err), c.err) && strings.Contains(out.String(), c.want) && !strings.Contains(out.String(), c.not),
			"%q: %v\n%s", c.args, err, out.String())
		if _, err := os.Stat(filepath.Join(c.args[len(c.args)-1], store.PageFile)); (err == nil) != (c.code == 0) {
			t.Errorf("%q: the page: %v", c.args, err)
		}
	}
}

// Every claim of a built-in study is listed, as the study states it.
func TestClaimsAreStated(t *testing.T) {
	all := must.Get(commands{runs: rundir.Reader{Hosts: selection.New(command.Streams{})}}.builtinClaims(nil))(t)
	want := 0
	for _, name := range studies.Names() {
		if src, _ := studies.Builtin(name); strings.Contains(string(src), "\nclaims:\n") {
			want++
		}
	}
	must.Equal(t, want, len(all))
	for _, s := range all {
		must.True(t, s.Title != "" && s.Command == "tare run "+s.Study+" --claims" && len(s.Claims) != 0, "%+v", s)
		for _, c := range s.Claims {
			must.True(t, c.ID != "" && c.Claim != "" && c.Outcome == "", "%s: %+v", s.Study, c)
		}
	}
}
