package view

import (
	"io"
	"testing"

	"tare/internal/must"
	"tare/internal/result"
)

// A trial that was ruled out before it gave a figure, and a valid one that lacks the
// figure shown, stand at the foot of a strip and do not stretch it without end.
func TestStripWithoutFigures(t *testing.T) {
	in := sample()
	in.Trials[0].Status, in.Trials[0].Reason, in.Trials[0].Metrics = result.TrialInvalid, "a link went down", nil
	in.Trials[2].Metrics = nil
	must.Do(t, HTML(io.Discard, in))
}
