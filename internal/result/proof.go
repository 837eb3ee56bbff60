package result

import "strings"

// Proof is the last proof of a mode's path: the increments of each counter over one
// trial, or over the last part of a rate search.
type Proof struct {
	Trial    int       `json:"trial"` // its number in trials.ndjson
	Workload string    `json:"workload"`
	Holds    bool      `json:"holds"` // false: the mode is void
	Findings []Finding `json:"findings"`
}

// Planned reports whether nothing has been measured yet: the findings then contain only
// the rules.
func (p *Proof) Planned() bool { return p != nil && p.Trial == 0 && p.Holds }

// Finding is one rule of a proof: a counter, the expected increment for the trial's
// traffic, and the actual increment.
type Finding struct {
	Counter string `json:"counter"` // such as "b/br0.tx_bytes"
	// Expect is the name of the rule: forward, reverse, both, connections, still, ...;
	// docs/proof.md lists all of them.
	Expect string `json:"expect"`
	// Pair is the pair whose traffic the counter sees, counted from 1; 0 is all pairs
	// together.
	Pair int `json:"pair,omitempty"`
	// Moved is the increment, nil if the counter could not be read or decreased. It is in
	// bytes, packets or nanoseconds, as the suffix of the counter's name says.
	Moved *uint64 `json:"moved"`
	Least uint64  `json:"least"`
	Most  *uint64 `json:"most,omitempty"` // nil: no maximum
}

// Fits reports whether the increment is within the expected range.
func (f Finding) Fits() bool {
	return f.Moved != nil && *f.Moved >= f.Least && (f.Most == nil || *f.Moved <= *f.Most)
}

// Of splits the name of a counter into its owner, "b/br0" of "b/br0.tx_bytes", and what
// it counts.
func Of(counter string) (of, what string) {
	if i := strings.LastIndexByte(counter, '.'); i >= 0 {
		return counter[:i], counter[i+1:]
	}
	return counter, ""
}
