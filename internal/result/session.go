package result

// Stopping says when and why a run stopped adding blocks.
type Stopping struct {
	Blocks int        `json:"blocks"` // run to their end
	Reason StopReason `json:"reason"`
	// Text is the reason in words.
	Text string `json:"text"`
	// MinBlocks and MostBlocks bound the number of blocks; they are the same where
	// it was fixed beforehand.
	MinBlocks  int `json:"min_blocks"`
	MostBlocks int `json:"most_blocks"`
	// ExtraBlocks were to follow once all was settled, and Width is the relative
	// half-width of a ratio's 95 % interval at which it counts as settled. Both are
	// 0 where the number of blocks was fixed.
	ExtraBlocks int     `json:"extra_blocks,omitempty"`
	Width       float64 `json:"width,omitempty"`
	// SettledAt is the block after which every ratio was settled first; 0: never.
	SettledAt int `json:"settled_at,omitempty"`
	// Unsettled are the ratios that were not settled at the end.
	Unsettled []Unsettled `json:"unsettled,omitempty"`
}

// StopReason is why a run stopped adding blocks.
type StopReason string

// The reasons. A run that ended in another way has the one that it got to last.
const (
	StopSettled     StopReason = "settled"     // every ratio was, and the extra blocks are run
	StopCap         StopReason = "cap"         // the most blocks are run
	StopTime        StopReason = "time"        // one more block would have passed the time limit
	StopFixed       StopReason = "fixed"       // so many blocks were asked for
	StopInterrupted StopReason = "interrupted" // from outside, or nothing was left to measure
)

// Unsettled is a ratio wider than a run aimed at. Width is nil where there is no
// interval.
type Unsettled struct {
	Mode     string   `json:"mode"`
	Workload string   `json:"workload"`
	Metric   string   `json:"metric"`
	Width    *float64 `json:"width"`
}

// Pilot is what the trial at the beginning of a run found out about one mode's
// warm-up. Durations are seconds.
type Pilot struct {
	Mode     string  `json:"mode"`
	Workload string  `json:"workload"`
	Length   float64 `json:"length"` // of the series that was looked at
	// Warmup is how much of it was found to be warm-up, nil where that is unknown:
	// the trial failed, or its series was too short to say.
	Warmup *float64 `json:"warmup"`
	// Unsettled says that what is behind Warmup was not steady either.
	Unsettled bool   `json:"unsettled,omitempty"`
	Reason    string `json:"reason,omitempty"` // why Warmup is unknown
}

// Length is how long the trials of a workload were, from a block on. Durations are
// seconds.
type Length struct {
	Workload  string  `json:"workload"`
	FromBlock int     `json:"from_block"`
	Warmup    float64 `json:"warmup"`
	Duration  float64 `json:"duration"` // of the timed window
	Reason    string  `json:"reason"`   // in words
}
