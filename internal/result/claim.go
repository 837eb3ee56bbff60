package result

// ClaimOutcome is whether a published claim was found to hold in a run.
type ClaimOutcome string

// The outcomes. ClaimCannotTell covers a run that is too short or too noisy, and modes that the
// machine lacks.
const (
	ClaimHolds       ClaimOutcome = "holds"
	ClaimDoesNotHold ClaimOutcome = "does_not_hold"
	ClaimCannotTell  ClaimOutcome = "cannot_tell"
)

// Claim is a published claim and what the run found about it. Value is what the claim is about, as
// measured: the ratio of the sides, or the value of one, in Unit (empty for a ratio); its interval
// has the confidence of the run's other intervals. Published is as its source gives it, and
// PublishedValue and PublishedCI are its numbers, in the same unit, if it has them. Points are the
// parts of a claim that is about several values: the pairs of an order, the loads of a curve.
// Reason says what decided the outcome or, if that is cannot_tell, what is lacking. Differs are
// reasons why the two may differ: those of the study, then those that the run shows.
type Claim struct {
	ID             string       `json:"id"`
	Claim          string       `json:"claim"`
	Source         string       `json:"source,omitempty"`
	Of             []string     `json:"of,omitempty"`
	Over           []string     `json:"over,omitempty"`
	Workload       string       `json:"workload,omitempty"`
	Metric         string       `json:"metric,omitempty"`
	Unit           string       `json:"unit,omitempty"`
	HoldsIf        string       `json:"holds_if,omitempty"`
	Published      string       `json:"published,omitempty"`
	PublishedValue *float64     `json:"published_value,omitempty"`
	PublishedCI    *Interval    `json:"published_ci,omitempty"`
	Outcome        ClaimOutcome `json:"outcome"`
	Reason         string       `json:"reason"`
	Value          *float64     `json:"value,omitempty"`
	CI             *Interval    `json:"ci,omitempty"`
	N              int          `json:"n,omitempty"`
	BlocksNeeded   *int         `json:"blocks_needed,omitempty"`
	Indicative     bool         `json:"indicative,omitempty"`
	Points         []ClaimPoint `json:"points,omitempty"`
	Differs        []string     `json:"differs,omitempty"`
}

// ClaimPoint is one part of a claim: a pair of an order, such as "raw before docker", or a level of
// a sweep, such as "700 Mbit/s".
type ClaimPoint struct {
	Label   string       `json:"label"`
	Value   *float64     `json:"value,omitempty"`
	CI      *Interval    `json:"ci,omitempty"`
	Outcome ClaimOutcome `json:"outcome"`
}
