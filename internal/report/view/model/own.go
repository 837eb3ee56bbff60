package model

import (
	"tare/internal/result"
	"tare/internal/wording"
)

// OwnShare is what the generator itself adds to the exchanges of a workload; "unknown" if that is not known.
func OwnShare(o result.OwnShare) string {
	if !(o.Share > 0 && o.Share < 1 && o.Seconds > 0) {
		return "unknown"
	}
	of := "an exchange"
	if o.Overlapping {
		of = "the client's time"
	}
	return wording.Percent(o.Share) + " of " + of + " of " + o.Baseline + " (" + wording.Value(o.Seconds, "s") + ")"
}
