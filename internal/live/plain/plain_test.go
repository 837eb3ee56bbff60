package plain

import (
	"bytes"
	"flag"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/wording"
)

var update = flag.Bool("update", false, "write the golden files")

func story() []live.Event {
	start := func(done int, block int, mode, workload string, attempt int, left time.Duration) live.Event {
		return live.TrialStarted{Done: done, Total: 8, Block: block, Blocks: 2, Modes: []string{mode}, Workload: workload, Attempt: attempt, Remaining: left}
	}
	end := func(block int, mode, workload string, attempt int, status result.TrialStatus, reason string, metrics map[string]float64) live.Event {
		return live.TrialEnded{Trial: result.Trial{Block: block, Mode: mode, Workload: workload, Attempt: attempt, Status: status, Reason: reason, Metrics: metrics}}
	}
	return []live.Event{
		live.Planned{RunID: "20260801-093012-7f3a", Dir: "runs/20260801-093012-7f3a", Profile: "quick", Modes: []string{"host", "netns/vxlan", "netns/ipvlan"}, Trials: 8, Blocks: 2, Estimate: 80 * time.Second},
		live.ModeSettled{Mode: "host", Status: result.ModeMeasured, Took: 120 * time.Millisecond},
		live.ModeSettled{Mode: "netns/ipvlan", Status: result.ModeUnsupported, Reason: "the kernel has no ipvlan"},
		live.ModeSettled{Mode: "netns/vxlan", Status: result.ModeMeasured, Took: 1500 * time.Millisecond},
		live.WarningRaised{Warning: result.Warning{Code: "shared_kernel", Scope: "run", Text: "both hosts share one kernel"}},
		start(0, 1, "host", "tcp_stream", 1, 38*time.Second),
		end(1, "host", "tcp_stream", 1, result.TrialOK, "", map[string]float64{"retransmits": 118, "goodput": 23.4e9}),
		start(1, 1, "netns/vxlan", "tcp_stream", 1, 33*time.Second),
		end(1, "netns/vxlan", "tcp_stream", 1, result.TrialInvalid, "steal was 4.1 % of CPU time", map[string]float64{"goodput": 9e9}),
		live.WarningRaised{Warning: result.Warning{Code: "steal", Scope: "a", Text: "another guest takes CPU time"}},
		start(1, 1, "netns/vxlan", "tcp_stream", 2, 33*time.Second),
		end(1, "netns/vxlan", "tcp_stream", 2, result.TrialOK, "", map[string]float64{"goodput": 16.6e9}),
		start(2, 2, "netns/vxlan", "tcp_rr", 1, 28*time.Second),
		end(2, "netns/vxlan", "tcp_rr", 1, result.TrialOK, "", map[string]float64{"rtt_p50": 29e-6, "transaction_rate": 31.7e3}),
		start(3, 2, "host", "tcp_rr", 1, 0),
		end(2, "host", "tcp_rr", 1, result.TrialFailed, "", nil),
		live.Ended{Status: result.RunInterrupted, Dir: "runs/20260801-093012-7f3a"},
	}
}

// enough is a run that decides for itself how long it goes on.
func enough() []live.Event {
	ratio := 0.853
	return []live.Event{
		live.Planned{RunID: "7746c31a", Dir: "d", Profile: "standard", Modes: []string{"host", "netns/vxlan"}, Trials: 26, Blocks: 12, MinBlocks: 7, Estimate: 12 * time.Minute, MinTime: 8 * time.Minute},
		live.TrialStarted{Total: 26, Block: 0, Blocks: 12, Modes: []string{"host"}, Workload: "tcp_stream", Remaining: 12 * time.Minute},
		live.TrialEnded{Trial: result.Trial{Pilot: true, Mode: "host", Workload: "tcp_stream", Status: result.TrialOK, Metrics: map[string]float64{"goodput": 9e9}}},
		live.Decision{Text: "tcp_stream from block 1 on: 0.5 s warm-up, 4 s timed (why)"},
		live.Recreated{Block: 2, Modes: []string{"host", "netns/vxlan"}, Took: 400 * time.Millisecond},
		live.TrialStarted{Done: 4, Total: 26, Block: 2, Blocks: 12, Modes: []string{"host"}, Workload: "tcp_stream", Remaining: 10 * time.Minute},
		live.Provisional{Blocks: 2, Cells: []result.Cell{
			{Mode: "host", Workload: "tcp_stream", Metric: "goodput"}, {Mode: "netns/vxlan", Workload: "tcp_stream", Metric: "goodput", Judgement: result.Judgement{Ratio: &ratio}},
			{Mode: "netns/vxlan", Workload: "tcp_stream", Metric: "retransmits", Judgement: result.Judgement{Ratio: &ratio}},
		}},
		live.Provisional{Blocks: 2},
		live.Moved{Dir: "/runs/d"},
		live.Ended{Status: result.RunComplete, Dir: "/runs/d"},
	}
}

func evil() []live.Event {
	s := "\x1b]0;pwned\x07\u202e\r\nfake line\x9b31m"
	return []live.Event{
		live.Planned{RunID: s, Profile: s, Modes: []string{s}},
		live.ModeSettled{Mode: s, Status: result.ModeStatus(s), Reason: strings.Repeat(s, 1000)},
		live.TrialStarted{Modes: []string{s}, Workload: strings.Repeat(s, 100), Total: 1, Blocks: 1},
		live.TrialEnded{Trial: result.Trial{Mode: s, Workload: s, Status: result.TrialStatus(s), Reason: s}},
		live.TrialEnded{Trial: result.Trial{Mode: s, Workload: s, Status: result.TrialOK, Metrics: map[string]float64{s: 1}}},
		live.WarningRaised{Warning: result.Warning{Code: s, Scope: s}},
		live.Decision{Text: s},
		live.Recreated{Modes: []string{s}},
		live.Moved{Dir: s},
		live.Ended{},
	}
}

func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		events []live.Event
		opt    Options
	}{
		"log":        {story(), Options{}},
		"tty":        {story(), Options{TTY: true}},
		"tty_narrow": {story(), Options{TTY: true, Width: 40}},
		"enough_log": {enough(), Options{}},
		"enough_tty": {enough(), Options{TTY: true}},
		"evil_log":   {evil(), Options{}},
		"evil_tty":   {evil(), Options{TTY: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			l := New(&b, c.opt)
			for _, e := range c.events {
				l.Handle(e)
			}
			must.File(t, filepath.Join("testdata", name+".txt"), visible(b.String()), *update)
		})
	}
}

// visible writes out the two sequences that a terminal is sent; any other escape
// sequence stays as it is, and would show in the golden file.
func visible(s string) string {
	return strings.NewReplacer("\r", "<CR>", "\x1b[K", "<EL>\n").Replace(s)
}

// screen is what a terminal shows after s: a line that is written over is gone.
func screen(s string) []string {
	lines := []string{""}
	for i := 0; i < len(s); i++ {
		last := len(lines) - 1
		switch {
		case s[i] == '\n':
			lines = append(lines, "")
		case s[i] == '\r':
			lines[last] = "" // what follows always ends in erase-to-end
		case strings.HasPrefix(s[i:], "\x1b[K"):
			i += len("\x1b[K") - 1
		default:
			lines[last] += string(s[i])
		}
	}
	return lines
}

func TestScreen(t *testing.T) {
	var b bytes.Buffer
	l := New(&b, Options{TTY: true, Width: 60})
	events := story()
	for _, e := range events[:9] {
		l.Handle(e)
	}
	want := []string{
		"run 20260801-093012-7f3a: 3 modes, 8 trials in 2 blocks, profile quick, about 1 min 20 s",
		"modes: host, netns/vxlan, netns/ipvlan",
		"results: runs/20260801-093012-7f3a",
		"ready: host (0.1 s)",
		"unsupported: netns/ipvlan: the kernel has no ipvlan",
		"ready: netns/vxlan (1.5 s)",
		"warning: both hosts share one kernel",
		"block 1/2  trial 2/8  netns/vxlan tcp_stream  invalid: steal was 4.1 % of CPU time",
		"block 1/2  trial 2/8  netns/vxlan tcp_stream  about 33 s...",
	}
	got := screen(b.String())
	must.Equal(t, want, got)
	if w := wording.Width(got[len(got)-1]); w >= 60 {
		t.Errorf("the progress line is %d wide", w)
	}
	for _, e := range events[9:] {
		l.Handle(e)
	}
	got = screen(b.String())
	must.Equal(t, []string{"run interrupted: runs/20260801-093012-7f3a", ""}, got[len(got)-2:])
}

// broken is a writer that always fails.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestNobodyReads(t *testing.T) {
	l := New(broken{}, Options{TTY: true})
	for _, e := range story() {
		l.Handle(e)
	}
}
