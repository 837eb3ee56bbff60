package result

import "strings"

// Proof is the last proof of a mode's path: what each counter showed over one trial,
// or over the last part of a search for a rate.
type Proof struct {
	Trial    int       `json:"trial"` // its number in trials.ndjson
	Workload string    `json:"workload"`
	Holds    bool      `json:"holds"` // false: the mode is void
	Findings []Finding `json:"findings"`
}

// Planned says that nothing has been carried: the findings are only what each counter
// would have to show.
func (p *Proof) Planned() bool { return p != nil && p.Trial == 0 && p.Holds }

// Finding is one rule of a proof: a counter, what it had to show of the trial's
// traffic, and how far it moved.
type Finding struct {
	Counter string `json:"counter"` // such as "b/br0.tx_bytes"
	// Expect is the word for the rule: forward, reverse, both, connections, still, ...;
	// docs/proof.md has all of them.
	Expect string `json:"expect"`
	// Pair is whose traffic the counter sees, counted from 1; 0 that of all together.
	Pair int `json:"pair,omitempty"`
	// Moved is nil where the counter could not be read, or ran backwards. Bytes, packets
	// or nanoseconds, as the counter's name ends.
	Moved *uint64 `json:"moved"`
	Least uint64  `json:"least"`
	Most  *uint64 `json:"most,omitempty"` // nil: there is no most
}

// Fits says whether the counter moved as it had to.
func (f Finding) Fits() bool {
	return f.Moved != nil && *f.Moved >= f.Least && (f.Most == nil || *f.Moved <= *f.Most)
}

// Of is whose counter a counter is, "b/br0" of "b/br0.tx_bytes", and what it counts.
func Of(counter string) (of, what string) {
	if i := strings.LastIndexByte(counter, '.'); i >= 0 {
		return counter[:i], counter[i+1:]
	}
	return counter, ""
}
