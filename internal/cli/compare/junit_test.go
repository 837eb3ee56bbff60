package compare

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/cli/command"
	"tare/internal/cli/rundir"
	"tare/internal/cli/selection"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// parsedJUnit is JUnit XML as a CI system reads it.
type parsedJUnit struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Class   string `xml:"classname,attr"`
			Name    string `xml:"name,attr"`
			Failure *struct {
				Type    string `xml:"type,attr"`
				Message string `xml:"message,attr"`
			} `xml:"failure"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// lines parses JUnit XML, whose counts must agree, and returns a line for each case.
func lines(t *testing.T, text string) (out []string) {
	t.Helper()
	var p parsedJUnit
	must.Do(t, xml.Unmarshal([]byte(text), &p))
	must.Equal(t, 1, len(p.Suites))
	s, failures, skipped := p.Suites[0], 0, 0
	for _, c := range s.Cases {
		line := c.Class + ": " + c.Name
		if c.Failure != nil {
			failures++
			line += "; failed (" + c.Failure.Type + "): " + c.Failure.Message
		}
		if c.Skipped != nil {
			skipped++
			line += "; skipped: " + c.Skipped.Message
		}
		out = append(out, line)
	}
	must.Equal(t, []int{len(s.Cases), failures, skipped}, []int{s.Tests, s.Failures, s.Skipped})
	return out
}

// A case fails if, and only if, it makes the check fail.
func TestJUnitCases(t *testing.T) {
	change := func(mode string, verdict result.Verdict) result.Change {
		ci := &result.Interval{0.88, 0.92}
		if verdict == result.CannotTell {
			ci[1] = 1.03
		}
		return result.Change{Mode: mode, Workload: "tcp_rr", Metric: "transaction_rate", BeforeN: 5, AfterN: 5, Judgement: result.Judgement{Ratio: new(0.9), RatioCI: ci, Verdict: verdict, Margin: 0.05}}
	}
	own := change("host", result.Worse)
	own.Own = true
	changes := result.Changes{
		Cells:   []result.Change{own, change("slow<\x1b[31m", result.Worse), change("open", result.CannotTell), change("same", result.Same)},
		Modes:   []result.ModeChange{{Mode: "gone", Before: result.ModeMeasured, After: result.ModeFailed}},
		Missing: []result.Pair{{Workload: "udp_rr"}}, Refused: []result.Refusal{{Mode: "other", Reason: "rules was 1 and is 2"}},
	}
	of := func(failOn ...string) (lined []string, code int) {
		g := must.Get(gateOf(failOn))(t)
		_, err := g.verdict(changes)
		var text strings.Builder
		must.Do(t, writeJUnit(&text, g.cases(changes, err)))
		return lines(t, text.String()), command.ExitCode(err)
	}
	const worse, open = "slow<", "open tcp_rr transaction_rate is cannot tell: between -12 % and +3 %"
	got, code := of("worse", "lost", "refused")
	must.Equal(t, command.ExitRegression, code)
	must.Equal(t, 6, len(got))
	must.Contain(t, got[0], "tare.tcp_rr: "+worse, " transaction_rate; failed (worse): ", "is worse: -10 % (-12 % to -8 %)")
	must.Equal(t, []string{
		"tare.tcp_rr: open transaction_rate; skipped: " + open, "tare.tcp_rr: same transaction_rate",
		"tare.modes: gone; failed (lost): gone was measured and is now failed",
		"tare.missing: udp_rr of every mode; failed (lost): udp_rr of every mode was measured and is not now",
		"tare.comparable: other rules was 1 and is 2; failed (refused): other is not comparable: rules was 1 and is 2",
	}, got[1:])
	got, _ = of("cannot_tell")
	must.Equal(t, 1, strings.Count(strings.Join(got, "\n"), "; failed ("))
	must.Contain(t, got[1], "failed (cannot_tell): "+open)
	changes = result.Changes{Noisy: "the later run is too noisy to judge"}
	got, code = of("worse")
	must.Equal(t, command.ExitUnfit, code)
	must.Equal(t, []string{"tare.check: the runs can be judged; failed (unfit): check: the later run is too noisy to judge"}, got)
}

// runCheck runs check.
func runCheck(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	var out bytes.Buffer
	check := commands{Streams: command.Streams{Stdout: &out, Stderr: &out}, runs: rundir.Reader{Hosts: selection.New(command.Streams{Stdout: &out, Stderr: &out})}}.checkCommand()
	check.SetArgs(args)
	check.SilenceErrors, check.SilenceUsage = true, true
	err := check.Execute()
	return command.ExitCode(err), fmt.Sprint(out.String(), err)
}

// The command writes the file whatever the outcome is, and an unwritable one is an error.
func TestCheckJUnit(t *testing.T) {
	dir := t.TempDir()
	before, run, out := filepath.Join(dir, "before"), filepath.Join(dir, "run"), filepath.Join(dir, "junit.xml")
	shape := synthetic.Shape{Modes: 3, Blocks: 6, Seed: 7}
	must.Do(t, shape.Write(before))
	must.Do(t, shape.Write(run))
	if code, text := runCheck(t, "--baseline", before, "--junit", out, run); code != command.ExitOK {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	got := lines(t, string(must.Get(os.ReadFile(out))(t)))
	must.True(t, len(got) != 0 && !strings.Contains(strings.Join(got, "\n"), "failed"), "%q", got)
	const limit = "nothing.tcp_rr.time <= +5us"
	if code, text := runCheck(t, "--limit", limit, "--junit", out, run); code != command.ExitIncomplete {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	must.Equal(t, []string{"tare.limits: " + limit + "; failed (cannot_tell): " + limit + ": open; the run has no such value"}, lines(t, string(must.Get(os.ReadFile(out))(t))))
	code, text := runCheck(t, "--baseline", before, "--junit", filepath.Join(dir, "none", "junit.xml"), run)
	must.Equal(t, command.ExitEnvironment, code)
	must.Contain(t, text, "check --junit: cannot write ")
}
