package plain

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"tare/internal/live"
	"tare/internal/result"
)

// FuzzEvents checks that whatever names and reasons the events of a run have, each is whole lines
// without a character that a terminal interprets, besides the erasure of the line in place.
func FuzzEvents(f *testing.F) {
	f.Add("host", "a reason", 1.5)
	f.Add("\x1b]0;x\x07\u202e", "a\r\nb\x1b[2J\u009b", -1.0)
	f.Add("", strings.Repeat("\u6f22", 3000), 1e308)
	f.Fuzz(func(t *testing.T, mode, text string, value float64) {
		trial := result.Trial{Mode: mode, Workload: text, Block: 1, Status: result.TrialOK, Metrics: map[string]float64{"goodput": value}}
		lost := trial
		lost.Status, lost.Reason = result.TrialInvalid, text
		for _, tty := range []bool{false, true} {
			var out bytes.Buffer
			l := New(&out, Options{TTY: tty, Width: 80})
			for _, e := range []live.Event{
				live.Planned{RunID: text, Dir: text, Profile: text, Modes: []string{mode, text}, Trials: 5, Blocks: 2},
				live.ModeSettled{Mode: mode, Status: result.ModeUnsupported, Reason: text},
				live.TrialStarted{Total: 5, Block: 1, Blocks: 2, Modes: []string{mode, text}, Workload: text, Remaining: time.Hour},
				live.TrialEnded{Trial: trial}, live.TrialEnded{Trial: lost},
				live.WarningRaised{Warning: result.Warning{Code: text, Scope: mode, Text: text}},
				live.Provisional{Blocks: 1},
			} {
				out.Reset()
				l.Handle(e)
				shown := strings.NewReplacer("\r", "", "\x1b[K", "", "\n", "").Replace(out.String())
				if i := strings.IndexFunc(shown, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }); i >= 0 {
					t.Errorf("%T prints %q", e, shown[max(0, i-20):min(len(shown), i+20)])
				}
				if n := strings.Count(out.String(), "\n"); n > 20 {
					t.Errorf("%T prints %d lines", e, n)
				}
			}
		}
	})
}
