package result

// Event is what happened in the middle of a trial, and what its client saw of it. Times are seconds since the start of the timed window.
type Event struct {
	Name  string  `json:"name"`
	Title string  `json:"title"` // what happened, in a few words
	Began float64 `json:"began"`
	Ended float64 `json:"ended"` // when it was over, or in effect
	// Due are the requests that were due in the timed window, and Failed those of them without an answer, by kind.
	Due    int64            `json:"due"`
	Failed map[string]int64 `json:"failed,omitempty"`
	// Changed is how the system's own state changed, by which the event is proven: increments of counters, and values.
	Changed map[string]uint64 `json:"changed,omitempty"`
}
