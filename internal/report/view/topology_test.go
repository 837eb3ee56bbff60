package view

import (
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// What a counter showed is drawn: proven, not proven, and of runs that do not say what it had to show.
func TestProofIsShown(t *testing.T) {
	all := everything(reports.Proven())
	for name, text := range all {
		if strings.HasPrefix(name, "path-") {
			golden(t, "proven-"+name, text)
		}
	}
	_, drawn := all["path-netns_ipvlan.svg"]
	must.True(t, !drawn, "a path is drawn that was not built")
}
