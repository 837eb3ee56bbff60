package result

// Direction says which way a metric is better.
type Direction string

// The two directions.
const (
	Higher Direction = "higher"
	Lower  Direction = "lower"
)

// Metric describes one figure a workload gives.
type Metric struct {
	Name   string
	Unit   string // base unit: bit/s, s, 1/s, segments
	Better Direction
	Title  string
	// Primary marks the metric that stands for its workload where there is
	// room for only one.
	Primary bool
}

// Metrics lists every metric in the order in which reports show them. Names are
// those of RFC 2647 (goodput) and of netperf's request/response workloads.
func Metrics() []Metric {
	return []Metric{
		{"goodput", "bit/s", Higher, "Goodput", true},
		{"retransmits", "segments", Lower, "Retransmits", false},
		{"transaction_rate", "1/s", Higher, "Transaction rate", true},
		{"rtt_p50", "s", Lower, "Round trip, median", false},
		{"rtt_p99", "s", Lower, "Round trip, 99th percentile", false},
	}
}

// MetricNamed finds a metric by name.
func MetricNamed(name string) (Metric, bool) {
	for _, m := range Metrics() {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}
