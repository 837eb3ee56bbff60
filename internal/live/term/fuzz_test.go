package term

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// FuzzEvents checks that whatever names, reasons and values the events of a run have, which come
// from engines, containers and studies, each drawing fits its frame and has no character that a
// terminal interprets.
func FuzzEvents(f *testing.F) {
	f.Add("host", "tcp_stream", "a reason", 9.4e9, uint8(80), uint8(24))
	f.Add("\x1b]0;x\x07\u202e", "a\nb\x1b[2J", "\u009b31m\xff", math.Inf(1), uint8(10), uint8(3))
	f.Add(strings.Repeat("\u6f22", 300), "", strings.Repeat("x ", 2000), -1.0, uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, mode, workload, text string, value float64, width, height uint8) {
		now := time.Unix(1e9, 0)
		s := &state{}
		column := live.Column{Workload: workload, Metric: "goodput"}
		trial := result.Trial{Mode: mode, Workload: workload, Block: 1, Status: result.TrialOK, Metrics: map[string]float64{"goodput": value, text: value}}
		lost := trial
		lost.Status, lost.Reason = result.TrialFailed, text
		for _, e := range []live.Event{
			live.Planned{RunID: text, Dir: text, Profile: text, Modes: []string{mode, text}, Columns: []live.Column{column}, Trials: 5, Blocks: 2},
			live.ModeSettled{Mode: mode, Status: result.ModeMeasured},
			live.ModeSettled{Mode: text, Status: result.ModeVoid, Reason: text},
			live.TrialStarted{Done: 1, Total: 5, Block: 1, Blocks: 2, Modes: []string{mode, text}, Workload: workload, Attempt: 2, Remaining: time.Hour},
			live.Progress{Mode: mode, Workload: workload, Elapsed: time.Second, Rate: value, Unit: text},
			live.TrialEnded{Trial: trial}, live.TrialEnded{Trial: lost},
			live.WarningRaised{Warning: result.Warning{Code: text, Scope: mode, Text: text}},
			live.Provisional{Blocks: 1},
		} {
			s.note(e, now)
			for _, ascii := range []bool{false, true} {
				fr := frame{int(width), int(height), ascii, now}
				lines := s.draw(fr)
				must.True(t, len(lines) <= max(2, fr.height), "%d lines in %d", len(lines), fr.height)
				for _, l := range lines {
					must.True(t, l.width() <= fr.width, "%q is wider than %d", l, fr.width)
					for _, part := range l {
						must.True(t, !strings.ContainsFunc(part.text, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }),
							"%T draws %q", e, part.text)
					}
				}
			}
		}
	})
}
