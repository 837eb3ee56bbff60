package wording

import (
	"fmt"
	"time"

	"tare/internal/result"
)

// Pace says at which rate a workload is paced, and why: "paced at 4.70 Gbit/s: half of what
// k8s/hostnet reached in one trial of 1.0 s; --full-rate measures the limit".
func Pace(p result.Pace) string {
	return "paced at " + Value(p.Rate, "bit/s") + ": " + PaceReason(p)
}

// PaceReason is where the rate of a pace comes from, in words, and how to measure without it.
func PaceReason(p result.Pace) string {
	var text string
	switch {
	case p.Limited() && p.Mode == "":
		return "the limit that the study sets (max_rate)"
	case p.Limited():
		text = fmt.Sprintf("the study's own limit, of which %s carried twice as much in one trial of %s", p.Mode, Duration(time.Duration(p.Duration*float64(time.Second))))
	default:
		text = fmt.Sprintf("half of what %s reached in one trial of %s", p.Mode, Duration(time.Duration(p.Duration*float64(time.Second))))
	}
	return text + "; --full-rate measures the limit"
}
