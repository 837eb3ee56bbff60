package driver

// Manned is a Path with processes of its own on this machine, beside its ends: those of
// an engine or of a tunnel. What they spend is shown apart in the bill of the mode.
type Manned interface {
	// Roots are the ids of processes below which everything belongs to the mode, but for
	// what runs in containers.
	Roots() []int
}
