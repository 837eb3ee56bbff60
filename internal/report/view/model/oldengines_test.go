package model

import (
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// An engine that was two years old when the run started stands in the first lines of its report, with
// its modes; a younger one does not, nor one whose date is unknown.
func TestOldEngines(t *testing.T) {
	engine := func(host, version, released string) []result.Fact {
		return []result.Fact{{Name: host + " engine", Value: version}, {Name: host + " engine released", Value: released}}
	}
	v := View{Input: Input{Run: result.Run{
		Started: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC),
		Modes: []result.Mode{
			{ID: "old", Facts: append(engine("a", "20.10.24", "2020-12-08"), engine("b", "20.10.24", "2020-12-08")...)},
			{ID: "older", Facts: engine("b", "20.10.24", "2020-12-08")},
			{ID: "young", Facts: engine("b", "29.0.1", "2025-11-10")},
			{ID: "almost", Facts: engine("b", "27.4.0", "2024-12-09")},
			{ID: "undated", Facts: engine("b", "99", "")},
			{ID: "none"},
		},
	}}}
	got := oldEngines(v)
	if len(got) != 1 || got[0].Grave || !strings.HasPrefix(got[0].Text, "Docker Engine 20.10.24 of old, older is of a line first released 5 years 11 months before this run") {
		t.Errorf("%+v", got)
	}
	notes := OverviewNotes(v)
	must.True(t, len(notes) != 0 && notes[0].Text == got[0].Text, "the first screen does not have it: %+v", notes)
}
