package result

// Requests are the settings of a workload of HTTP or gRPC that decide what it sends, by the keys of the study, with the sizes and rates as
// a study writes them.
type Requests struct {
	Workload string `json:"workload"`
	Settings []Fact `json:"settings"`
}
