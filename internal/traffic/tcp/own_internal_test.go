package tcp

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/traffic"
)

// The client's own time is known for one flow in a closed loop, and is of the size of some readings of a clock.
func TestOwnTime(t *testing.T) {
	p := traffic.ParamsOf(study.Workload{Kind: "tcp_rr", Flows: 1, RequestSize: 1, ResponseSize: 1})
	p.Slice = 20 * time.Millisecond
	if own := ownTime(p); own == nil || *own <= 0 || *own > 1e-3 {
		t.Errorf("own time %v", own)
	}
	several, open := p, p
	several.Streams, open.TransactionRate = 2, 100
	if ownTime(several) != nil || ownTime(open) != nil {
		t.Error("an own time of exchanges that overlap or wait")
	}
}
