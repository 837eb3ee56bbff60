package measure

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/live"
	"tare/internal/live/plain"
)

// A short log says where the run's directory is after somebody moved it.
func TestShortLogTellsMove(t *testing.T) {
	var b bytes.Buffer
	c := &concise{to: plain.New(&b, plain.Options{}), log: true}
	c.Handle(live.Moved{Dir: "/elsewhere/run"})
	if !strings.Contains(b.String(), "/elsewhere/run\n") {
		t.Errorf("%q", b.String())
	}
}
