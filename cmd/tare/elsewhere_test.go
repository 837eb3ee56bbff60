package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/analysis/verdict"
	"tare/internal/driver/engines"
	"tare/internal/driver/netns"
	"tare/internal/program/agentfile"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
)

// elsewhere builds tare out of the files that a system would take for which there are none of its own, to run here: so
// that what is not Linux's is not only compiled. GOOS stays linux.
func elsewhere(t *testing.T) string {
	t.Helper()
	root := must.Get(filepath.Abs("../.."))(t)
	dir := t.TempDir()
	replace := map[string]string{}
	other := build.Default
	other.GOOS, other.GOARCH = "freebsd", "arm64"
	for _, room := range []string{"cmd", "internal"} {
		must.Do(t, filepath.WalkDir(filepath.Join(root, room), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			here, err := build.Default.MatchFile(filepath.Dir(path), e.Name())
			there, errThere := other.MatchFile(filepath.Dir(path), e.Name())
			switch {
			case err != nil || errThere != nil:
				return errors.Join(err, errThere)
			case here && !there:
				replace[path] = ""
			case there && !here:
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				open := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
				replace[strings.TrimSuffix(path, ".go")+"_elsewhere.go"] = open
				return os.WriteFile(open, regexp.MustCompile(`(?m)^//go:build .*$`).ReplaceAll(text, nil), 0o600)
			}
			return nil
		}))
	}
	if len(replace) < 20 {
		t.Fatalf("only %d files differ between Linux and such a system: %v", len(replace), replace)
	}
	overlay := must.Get(json.Marshal(map[string]any{"Replace": replace}))(t)
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tare")
	must.Do(t, os.WriteFile(list, overlay, 0o600))
	if text, err := exec.Command("go", "build", "-tags="+agentfile.Tags(), "-overlay", list, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build without Linux's files: %v\n%s", err, text)
	}
	return binary
}

// Where no lab can be made, tare says so in a line and does all that needs none; and two agents without Linux's fast
// path carry a trial between them.
func TestReleaseElsewhere(t *testing.T) {
	testneed.NotShort(t)
	binary := elsewhere(t)
	t.Run("agents", func(t *testing.T) { agentsElsewhere(t, binary) })
	dir := t.TempDir()
	aRun(t, filepath.Join(dir, "tare-runs", "one"))
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string // expressions
	}{
		{"run", 3, `^$`, `^tare: the embedded lab cannot be created here: [^\n]* need Linux, [^\n]*Linux virtual machine[^\n]*\n$`},
		{"run --modes nothing", 2, `^$`, `nothing`},
		{"modes", 0, `netns/vxlan +host +both endpoints`, `^$`},
		{"modes --probe", 0, `netns/vxlan +host +unsupported`, `tried 1 of `},
		{"plan default", 0, `netns/bridge`, `^$`},
		{"plan", 0, `netns/bridge`, `^tare: measuring namespaces, not Docker: no Docker Engine is installed here\n$`},
		{"doctor", 3, `host +unsupported +network namespaces need Linux(?s:.*)netns/vxlan +unsupported +as host`, `Linux machine`},
		{"doctor --json", 3, `"ready": false`, `Linux machine`},
		{"ls", 0, `one\n`, `^$`},
		{"report tare-runs/one", 0, `tcp_rr(.|\n)*report\.html`, `^$`},
		{"gc", 0, `nothing to remove`, `^$`},
		{"version", 0, `^tare `, `^$`},
	} {
		cmd := exec.Command(binary, strings.Fields(tt.args)...)
		var stdout, stderr bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
		if err := cmd.Run(); cmd.ProcessState == nil {
			t.Fatal(err)
		}
		code := cmd.ProcessState.ExitCode()
		if code != tt.code || !regexp.MustCompile(tt.stdout).Match(stdout.Bytes()) || !regexp.MustCompile(tt.stderr).Match(stderr.Bytes()) {
			t.Errorf("tare %s: exit code %d, want %d\nwant on stdout %s, got\n%s\nwant on stderr %s, got\n%s",
				tt.args, code, tt.code, tt.stdout, &stdout, tt.stderr, &stderr)
		}
	}
	probe, err := exec.Command(binary, "modes", "--probe").Output()
	table, reasons, _ := strings.Cut(string(probe), "\n\n")
	all := strings.Count(table, "\n") // but for the heading
	unnamed := strings.Count(table, " name needed ")
	if !strings.Contains(reasons, ": unsupported: network namespaces need Linux") {
		t.Errorf("no reason in\n%s", reasons)
	}
	if n := strings.Count(table, " unsupported "); err != nil || n < len(netns.Driver{}.Modes())+len(engines.Docker{}.Modes())-unnamed || n+unnamed != all {
		t.Errorf("%d modes are unsupported and %d want a name (%v); want that of all %d in\n%s", n, unnamed, err, all, probe)
	}
}

// aRun writes the directory of a run that ended with one trial.
func aRun(t *testing.T, dir string) {
	t.Helper()
	d := must.Get(store.Create(dir))(t)
	trial := result.Trial{Seq: 1, Block: 1, Mode: "host", Workload: "tcp_rr", Status: result.TrialOK,
		Started: time.Now(), Metrics: map[string]float64{"transaction_rate": 1000}}
	run := result.Run{Schema: result.Schema, ID: "0123abcd", Started: trial.Started, Finished: trial.Started, Status: result.RunComplete,
		Modes: []result.Mode{{ID: "host", Title: "process to process", Status: result.ModeMeasured}}, Trials: result.Count([]result.Trial{trial})}
	run.Cells, run.Warnings = verdict.Cells(run.Modes, []string{"tcp_rr"}, []result.Trial{trial}, verdict.Rule{Margin: 0.05})
	must.Do(t, d.Append(trial), d.WriteRun(run), d.Close())
}

func agentsElsewhere(t *testing.T, binary string) {
	t.Helper()
	launcher := transport.Local{Start: func(c *exec.Cmd) error {
		c.Path = binary
		return c.Start()
	}}
	begin := func(place string) *agent.Client {
		c := must.Get(agent.Start(t.Context(), launcher, "00000000", place))(t)
		t.Cleanup(func() { must.Do(t, c.Close()) })
		return c
	}
	client, server := begin("client"), begin("server")
	for _, kind := range []string{"tcp_stream", "tcp_rr"} {
		p := traffic.Params{
			Workload: study.Workload{Kind: kind, Streams: 1, WriteSize: 64 << 10, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()},
			Address:  "127.0.0.1:0", Token: "0123456789abcdef", CPU: -1, Warmup: 20 * time.Millisecond, Duration: 100 * time.Millisecond,
		}
		trial := must.Get(agent.Begin(t.Context(), client, server, p, p))(t)
		sent, got, err := trial.Run(t.Context())
		if err != nil || sent.Sent == 0 || sent.Sent != got.Received {
			t.Errorf("%s: %d bytes sent, %d received: %v", kind, sent.Sent, got.Received, err)
		}
	}
}
