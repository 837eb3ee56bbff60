package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// largeInputs are files and runs of about 100 kB that maximise products and nesting.
func largeInputs(t *testing.T, dir string) {
	t.Helper()
	const size = 100_000
	each := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, strings.ReplaceAll(format, "#", "%[1]d"), i)
		}
		return b.String()
	}
	nested := strings.Repeat("[", size/2) + strings.Repeat("]", size/2)
	for name, text := range map[string]string{
		"nested.yaml": "modes: " + nested,
		"open.yaml":   strings.Repeat("[", size),
		"alias.yaml":  "a0: &a0 [1,1,1,1,1,1,1,1]\n" + each(30, "b#: &b# [*a0,*a0,*a0,*a0,*a0,*a0,*a0,*a0]\n"),
		"modes.yaml":  "workloads: [tcp_rr]\nmodes:\n" + each(3000, "  - {id: m#, mode: netns/bridge}\n"),
		"sweeps.yaml": "modes: [host, netns/bridge]\nblocks: 2\nworkloads:\n" + each(1000, "  - {workload: udp_sweep, id: s#, rates: {from: 1Mbit/s, to: 1Gbit/s, steps: 100}}\n"),
		"errors.yaml": each(12_000, "k#: 1\n"),
		"claims.yaml": "modes: [host, netns/bridge]\nworkloads: [tcp_rr]\nclaims:\n" + each(1500, "  - {id: c#, claim: x, source: y, holds: \"netns/bridge.tcp_rr.ratio < 1\"}\n"),
		"blocks.csv":  "mode,block,value\n" + each(5000, "a,#,1\nb,#,2\n"),
		"metrics.csv": "metric,mode,value\n" + each(2000, "x#,a,1\nx#,b,2\nx#,a,3\nx#,b,4\n"),
		"nested.json": nested,
		"open.json":   strings.Repeat(`{"a":`, size/5),
		"x.conflist":  `{"cniVersion":"1.0.0","name":"x","plugins":[{"type":"bridge","a":` + nested + `}]}`,
		"y.conflist":  `{"cniVersion":"1.0.0","name":"y","plugins":[{"type":"bridge"}` + each(5000, `,{"type":"portmap"}`) + `]}`,
	} {
		write(t, filepath.Join(dir, name), text)
	}
	const head = `{"schema":"tare.run/1","id":"x","status":"complete","started":"2026-11-01T00:00:00Z",`
	must.Do(t, os.Mkdir(filepath.Join(dir, "runs"), 0o700))
	runDir(t, dir, "runs/nested", head+`"hosts":`+nested+`}`, "", 0, 0)
	runDir(t, dir, "runs/warnings", head+`"warnings":[{}`+each(1500, `,{"code":"shaped","scope":"m# w#","text":"a","values":["#"]}`)+`]}`, "", 0, 0)
	runDir(t, dir, "runs/trials", "", each(850, `{"schema":"tare.trial/1","seq":#,"block":1,"mode":"m#","workload":"w#","status":"ok","metrics":{"goodput":1}}`+"\n"), 0, 0)
	manyPairs(t, filepath.Join(dir, "runs"), "sparse", 500, false)
	manyPairs(t, filepath.Join(dir, "runs"), "dense", 30, true)
}

// Each command takes little memory of whatever it may be given, and says what is wrong in few words.
func TestFaultsLargeInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	largeInputs(t, dir)
	studies, tables := "nested.yaml open.yaml alias.yaml modes.yaml sweeps.yaml errors.yaml claims.yaml", "blocks.csv metrics.csv nested.json open.json"
	runs := "runs/nested runs/warnings runs/trials runs/sparse runs/dense"
	// The inputs of each command replace its #; a command without any takes no file.
	calls := map[string][][2]string{
		"plan": {{"plan #", studies}}, "run": {{"run #", "nested.yaml open.yaml alias.yaml errors.yaml"}, {"run --resume #", "runs runs/nested/run.json"}},
		"why": {{"why #", "nested.yaml open.yaml"}}, "claims": {{"claims #", "nested.yaml claims.yaml"}}, "k8s": {{"k8s manifest #", "nested.yaml errors.yaml"}},
		"judge":  {{"judge --better higher --full --html page.html #", tables}, {"judge --rank #", tables}},
		"report": {{"report --full #", runs}}, "export": {{"export --format md #", runs}, {"export #", runs}},
		"compare": {{"compare runs/dense #", runs}}, "check": {{"check --baseline runs/dense #", runs}}, "combine": {{"combine runs/dense # --html page.html --full", runs}},
		"ls": {{"ls #", "runs"}}, "history": {{"history #", "runs"}}, "prune": {{"prune #", "runs"}},
		"modes": {{"modes --probe cni/network:./#", "x.conflist y.conflist"}}, "doctor": {{"doctor --modes cni/network:./#", "x.conflist y.conflist"}},
		"completion": nil, "engines": nil, "explain": nil, "gc": nil, "help": nil, "image": nil, "serve": nil, "version": nil, "which": nil, "workloads": nil,
	}
	for line := range strings.Lines(output(t, dir, "__complete", "")) {
		name, _, is := strings.Cut(line, "\t")
		if _, known := calls[name]; is && !known {
			t.Errorf("%s has no input here", name)
		}
	}
	for name, all := range calls {
		for _, call := range all {
			for input := range strings.FieldsSeq(call[1]) {
				args := strings.Fields(strings.ReplaceAll(call[0], "#", input))
				must.Require(t, slices.Contains(args, name), "%s: %q", name, args)
				p := prepared(dir, args...)
				peak := filepath.Join(t.TempDir(), "peak")
				p.cmd.Env = append(os.Environ(), peakFile+"="+peak)
				began := time.Now()
				p.begin(t)
				exit := p.wait(t)
				used, said := peakOf(t, peak), p.stderr.String()
				must.True(t, used <= mostMemory && exit >= 0 && len(said) <= 20_000 && !strings.Contains(said, "goroutine "),
					"%q: exit %d, %d bytes of memory: %.300s", args, exit, used, said)
				t.Logf("%q: exit %d, %d MB in %s", args, exit, used/1e6, time.Since(began).Round(time.Millisecond))
			}
		}
	}
}

// output is what a command that succeeds prints.
func output(t *testing.T, dir string, args ...string) string {
	t.Helper()
	p := prepared(dir, args...)
	p.begin(t)
	must.EqualFor(t, "exit code", 0, p.wait(t))
	return p.stdout.String()
}
