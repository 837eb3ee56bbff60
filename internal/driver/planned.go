package driver

// Planned is a mode that is known and not built yet. A study may name it: its cells
// come out unsupported, and the study stays as it is when the mode lands.
type Planned struct {
	Mode
	Why string // what is missing
}

// PlannedModes lists them: at present there are none.
func PlannedModes() []Planned { return nil }
