package labdriver

import (
	"fmt"

	"tare/internal/driver"
)

// PartSet is the set of those parts of a mode that a variant keeps, by id.
type PartSet map[string]bool

// PartNeed states that a part cannot be built without another. Why says in a clause what
// the part does with the other.
type PartNeed struct{ Part, Needs, Why string }

// KeptParts returns the parts of the mode that the variant keeps, or *driver.Unsupported if
// one of them needs a part that the variant leaves out.
func (o Order) KeptParts(m driver.Mode, needs []PartNeed) (PartSet, error) {
	kept, out := PartSet{}, map[string]bool{}
	for _, p := range m.Parts {
		kept[p.ID], out[p.ID] = !o.Without(p.ID), o.Without(p.ID)
	}
	for _, n := range needs {
		if kept[n.Part] && out[n.Needs] {
			return nil, &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf("the part %s needs the part %s, which is off: %s; set %s: off too", n.Part, n.Needs, n.Why, n.Part)}
		}
	}
	return kept, nil
}
