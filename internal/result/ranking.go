package result

// Ranking orders modes by one metric of a workload and says which of them cannot be told
// apart: all Pairs are compared, in blocks if there are any, with Holm's correction over all
// of them, and Apart of them are told apart. The modes are those with one baseline, without
// it and without a control, or those without a baseline; there are more than two. Detectable
// is the smallest relative difference that the pair with the median standard error would show
// in four of five cases. If the modes cannot be ordered, Reason says why, Modes is empty and
// there are no Pairs.
type Ranking struct {
	Workload   string     `json:"workload"`
	Metric     string     `json:"metric"`
	Unit       string     `json:"unit"`
	Better     Direction  `json:"better"`
	Baseline   string     `json:"baseline,omitempty"`
	Pairs      int        `json:"pairs,omitempty"`
	Apart      int        `json:"apart,omitempty"`
	Detectable *float64   `json:"detectable,omitempty"`
	Modes      []Ranked   `json:"modes"` // the best first
	Unranked   []Unranked `json:"unranked,omitempty"`
	Reason     string     `json:"reason,omitempty"`
}

// Ranked is a mode of a [Ranking]: its N own values with their mean and 95 % interval, as in
// its [Cell], and their median. Two modes whose Letters have one in common cannot be told
// apart. Letters is empty if the ties take more letters than there are.
type Ranked struct {
	Mode    string    `json:"mode"`
	N       int       `json:"n"`
	Value   *float64  `json:"value"`
	CI      *Interval `json:"ci"`
	Median  *float64  `json:"median"`
	Letters string    `json:"letters,omitempty"`
}

// Unranked is a mode that has a value and no place in a [Ranking], with the reason.
type Unranked struct {
	Mode   string `json:"mode"`
	Reason string `json:"reason"`
}
