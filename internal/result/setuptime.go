package result

// SetupTime is the distribution of a metric of set-ups of a mode, or of a step of them: each valid trial is one set-up,
// with one value.
type SetupTime struct {
	Mode     string     `json:"mode"`
	Workload string     `json:"workload"`
	Metric   string     `json:"metric,omitempty"`
	Step     string     `json:"step,omitempty"` // in place of Metric, as in [Trial].SetupSteps
	Setups   int        `json:"setups"`
	P50      Percentile `json:"p50"`
	P90      Percentile `json:"p90"`
}

// SetupGrowth is how a metric of set-ups grows with a number that variants of a mode set, such as that of published ports: the slope
// of Theil and Sen over all set-ups of the variants, in the metric's unit for each 100, with its interval at 95 %.
type SetupGrowth struct {
	Modes    []string `json:"modes"` // the variants, by number
	Workload string   `json:"workload"`
	Metric   string   `json:"metric"`
	Setting  string   `json:"setting"` // the key of with in which they differ
	Numbers  []int    `json:"numbers"` // of each variant; 0 without the setting
	Setups   int      `json:"setups"`
	Per100   float64  `json:"per_100"`
	Low      float64  `json:"low"`
	High     float64  `json:"high"`
}

// Percentile is a percentile of a sample, with its interval at 95 % by order statistics. A limit is nil
// if the sample is too small for it.
type Percentile struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}
