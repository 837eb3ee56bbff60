package result

// Concurrency is a workload at several numbers of flows or streams, each of which is a
// workload of its own in the cells. Crossings are where, in its primary metric, one mode
// stops being better than another.
type Concurrency struct {
	Workload  string            `json:"workload"` // its name in the study
	Key       string            `json:"key"`      // flows or streams
	Metric    string            `json:"metric"`
	Steps     []ConcurrencyStep `json:"steps"` // from the lowest number on
	Crossings []Crossing        `json:"crossings,omitempty"`
}

// ConcurrencyStep is one number of flows or streams with the name of its workload.
type ConcurrencyStep struct {
	Count    int    `json:"count"`
	Workload string `json:"workload"`
}

// Crossing is where the curves of two modes cross: A is better than B below At and worse
// above. At and its 95 % interval are numbers of flows or streams, and need not be whole. N
// is the number of blocks. Below and Above are the nearest measured numbers at which the
// two are shown to differ.
type Crossing struct {
	A     string        `json:"a"`
	B     string        `json:"b"`
	At    float64       `json:"at"`
	CI    Interval      `json:"ci"`
	N     int           `json:"n"`
	Below CrossingRatio `json:"below"`
	Above CrossingRatio `json:"above"`
}

// CrossingRatio is the ratio of A to B in the metric at a number of flows or streams, as the
// geometric mean over the blocks of the crossing.
type CrossingRatio struct {
	Count int     `json:"count"`
	Ratio float64 `json:"ratio"`
}
