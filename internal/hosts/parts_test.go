package hosts

import (
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
)

// Each part of a mode that a lab can leave out says how to get its cost back, in a text that a study accepts.
func TestPartsCanBeAvoided(t *testing.T) {
	parts := 0
	for _, r := range Drivers() {
		for _, m := range r.Driver.Modes() {
			for _, p := range m.Parts {
				parts++
				rung := study.PartMode{Avoid: p.Avoid}
				field, _ := study.Find(rung.Fields(), "avoid")
				if problem := field.Check(); p.Avoid == "" || problem != "" {
					t.Errorf("%s: %s: %q: %s", m.ID, p.ID, p.Avoid, problem)
				}
			}
		}
	}
	must.True(t, parts != 0, "no mode has a part")
}
