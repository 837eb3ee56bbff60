package result

// Attempts counts the connections that a client tried to use in a whole trial, warm-up included:
// those of tcp_crr, each with one exchange, and those over which the other TCP workloads carry
// theirs, with every repeated attempt to open one. A connection that failed has one kind. Late
// connections were established: their handshake lost a packet, by the kernel's count of SYNs that it
// repeated, or took a second (RFC 6298, 2.1: the retransmission timer's first value) or more. They are counted apart,
// and one that was reset or fell silent later failed, too.
type Attempts struct {
	Tried    int64 `json:"tried"`
	TimedOut int64 `json:"timed_out,omitempty"` // no answer in time
	Refused  int64 `json:"refused,omitempty"`   // by the other host, or by what is before it
	Reset    int64 `json:"reset,omitempty"`     // established, and ended by the other side before the answer
	Late     int64 `json:"late,omitempty"`
}

// Failed returns how many failed.
func (a Attempts) Failed() int64 { return a.TimedOut + a.Refused + a.Reset }

// mostTried is more than a trial can try, and so little that the trials of a run add up.
const mostTried = 1_000_000_000_000

// Valid reports whether the counts can be true: none is negative, no more failed than were tried,
// and no more were late.
func (a Attempts) Valid() bool {
	left := min(a.Tried, mostTried)
	if a.Late < 0 || a.Late > left {
		return false
	}
	for _, n := range []int64{a.TimedOut, a.Refused, a.Reset} {
		if n < 0 || n > left {
			return false
		}
		left -= n
	}
	return a.Tried >= 0 && a.Tried <= mostTried
}

// Plus returns the sum of both.
func (a Attempts) Plus(b Attempts) Attempts {
	return Attempts{a.Tried + b.Tried, a.TimedOut + b.TimedOut, a.Refused + b.Refused, a.Reset + b.Reset, a.Late + b.Late}
}

// AttemptSummary is the connections of a mode in all trials of a workload, failed trials included.
// Those of trials whose path was not proven do not count. Failed and late are shares of those tried.
type AttemptSummary struct {
	Mode     string `json:"mode"`
	Workload string `json:"workload"`
	Trials   int    `json:"trials"`
	Setups   int    `json:"setups"` // of the mode, or blocks where set-ups are unknown: the replicates of the intervals
	Attempts
	FailedShare Share `json:"failed_share"`
	LateShare   Share `json:"late_share"`
}

// Share is a share of attempts, 0..1, with its interval at 95 %. Without any in all attempts it is 0,
// Low is 0, and High is the exact upper limit at 95 %, one-sided.
type Share struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
