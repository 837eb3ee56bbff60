package result

// Stopping records when and why a run stopped adding blocks.
type Stopping struct {
	Blocks int        `json:"blocks"` // completed
	Reason StopReason `json:"reason"`
	// Text is the reason in words.
	Text string `json:"text"`
	// MinBlocks and MostBlocks bound the number of blocks; they are equal if it was fixed
	// beforehand.
	MinBlocks  int `json:"min_blocks"`
	MostBlocks int `json:"most_blocks"`
	// ExtraBlocks is the number of blocks to run after a ratio has settled. It is settled when the
	// relative half-width of its 95 % interval is at most Width, or at most EffectWidth of its distance
	// from 1, both as logarithms. All are 0 if the number of blocks was fixed.
	ExtraBlocks int     `json:"extra_blocks,omitempty"`
	Width       float64 `json:"width,omitempty"`
	EffectWidth float64 `json:"effect_width,omitempty"`
	// SettledAt is the first block after which every ratio had settled; 0: never. Left is the number of
	// modes with a workload that were not measured in later blocks, because their ratios had settled
	// before.
	SettledAt int `json:"settled_at,omitempty"`
	Left      int `json:"left,omitempty"`
	// Unsettled are the ratios that were not settled at the end.
	Unsettled []Unsettled `json:"unsettled,omitempty"`
}

// StopReason is why a run stopped adding blocks.
type StopReason string

// The reasons. A run that ended otherwise has the last one that applied.
const (
	StopSettled     StopReason = "settled"     // every ratio has settled, and the extra blocks have run
	StopCap         StopReason = "cap"         // the maximum number of blocks has run
	StopTime        StopReason = "time"        // another block would exceed the time limit
	StopFixed       StopReason = "fixed"       // the study fixes the number of blocks
	StopInterrupted StopReason = "interrupted" // by a user, or no mode was left to measure
)

// Unsettled is a ratio with a wider interval than requested. Width is nil if there is no
// interval.
type Unsettled struct {
	Mode     string   `json:"mode"`
	Workload string   `json:"workload"`
	Metric   string   `json:"metric"`
	Width    *float64 `json:"width"`
}

// Pilot is the result of the pilot trial about one mode's warm-up. Durations are seconds.
type Pilot struct {
	Mode     string  `json:"mode"`
	Workload string  `json:"workload"`
	Length   float64 `json:"length"` // of the series that was analysed
	// Warmup is the part that is warm-up, nil if unknown: the trial failed, or its series
	// was too short.
	Warmup *float64 `json:"warmup"`
	// Unsettled means that the part after Warmup was not steady either.
	Unsettled bool   `json:"unsettled,omitempty"`
	Reason    string `json:"reason,omitempty"` // why Warmup is unknown
}

// Length is the length of a workload's trials, from a block on. Durations are seconds.
type Length struct {
	Mode      string  `json:"mode,omitempty"` // only its trials, which then run in one piece
	Workload  string  `json:"workload"`
	FromBlock int     `json:"from_block"`
	Warmup    float64 `json:"warmup"`
	Duration  float64 `json:"duration"`        // of the timed window
	Held      float64 `json:"held,omitempty"`  // how long the mode's path needs for the data that it holds
	Slice     float64 `json:"slice,omitempty"` // if the paths required a longer one than the study has
	Reason    string  `json:"reason"`          // in words
}
