package measure

import (
	"bytes"
	"testing"

	"tare/internal/live"
	"tare/internal/live/plain"
	"tare/internal/testkit/must"
)

// A short log says where the run's directory is after somebody moved it.
func TestShortLogTellsMove(t *testing.T) {
	var b bytes.Buffer
	c := &concise{to: plain.New(&b, plain.Options{}), log: true}
	c.Handle(live.Moved{Dir: "/elsewhere/run"})
	must.Contain(t, b.String(), "/elsewhere/run\n")
}
