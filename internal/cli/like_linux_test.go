package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"tare/internal/study/studyfile"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
)

// A run measures the round trip to a machine before it builds anything, records it, and says what the modes add as a
// share of it; so does a later report. Without the round trip nothing is created.
func TestMachinesLike(t *testing.T) {
	t.Parallel()
	needRoot(t)
	b := machinetest.New(t, machinetest.Spec{Name: "a"})
	b.Alias("closed", b.Machine("a"), "Port 23")
	dir := studyIn(t, "blocks: 3\npilot: 0s\nsettle: 10ms\nmodes: [host, netns/bridge]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\nworkloads: [{workload: tcp_rr, duration: 100ms}]\n")
	out := filepath.Join(dir, "run")

	p := inBench(t, b, dir, "run", "study.yaml", "--out", out, "--like", "ssh://closed")
	must.Equal(t, 3, p.wait(t))
	must.Contain(t, p.stderr.String(), "--like: cannot log in to machine closed", "connection refused")
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a directory was created: %v", err)
	}

	p = inBench(t, b, dir, "run", "study.yaml", "--out", out, "--like", "ssh://a")
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	found := regexp.MustCompile(`(?m)^tare: the shortest round trip to ssh://a is [0-9.]+ [um]s$`)
	must.True(t, found.MatchString(p.stderr.String()), "the round trip is not told:\n%s", p.stderr.String())
	network := studyfile.NetworkOf(must.Get(os.ReadFile(filepath.Join(out, "study.yaml")))(t))
	must.True(t, network.RTT > 0 && network.Like == "ssh://a", "recorded: %+v", network)
	line := regexp.MustCompile(`On a round trip of [0-9.]+ [um]s, the shortest to\s+ssh://a`)
	again := inBench(t, b, dir, "report", out)
	must.Equal(t, 0, again.wait(t))
	other := inBench(t, b, dir, "report", "--rtt", "300us", out)
	must.Equal(t, 0, other.wait(t))
	for name, text := range map[string]string{"run": p.stdout.String(), "report": again.stdout.String()} {
		must.True(t, line.MatchString(text), "%s does not translate:\n%s", name, text)
	}
	must.Contain(t, other.stdout.String(), "On a round trip of 300 us:")
	nothingLeft(t, b)
}
