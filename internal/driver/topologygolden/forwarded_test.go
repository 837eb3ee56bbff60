package topologygolden

import (
	"encoding/json"
	"testing"

	"tare/internal/testkit/must"
)

// The recorded paths say of each mode whether a process forwards its packets, also of modes that this machine cannot build.
func TestForwardedModes(t *testing.T) {
	forwarded := 0
	for _, f := range must.Get(files.ReadDir("paths"))(t) {
		var p Path
		must.Do(t, json.Unmarshal(must.Get(files.ReadFile("paths/"+f.Name()))(t), &p))
		must.EqualFor(t, f.Name(), p.Forwarded, p.HasForwarder())
		if p.Forwarded {
			forwarded++
		}
	}
	must.True(t, forwarded >= 32, "only %d recorded modes are forwarded by a process", forwarded)
}
