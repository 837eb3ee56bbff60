package tcp

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// The client's own time of an exchange in a closed loop is of the size of some readings of a clock; of a schedule it is
// unknown.
func TestOwnTime(t *testing.T) {
	t.Parallel()
	of := func(change func(*traffic.Params)) traffic.Params {
		p := traffic.ParamsOf(study.Workload{Kind: "tcp_rr", Flows: 1, RequestSize: 1, ResponseSize: 1})
		p.Token = "0123456789abcdef"
		change(&p)
		return p
	}
	crr := func(p traffic.Params) *float64 { return must.Get(newCRRTrial(p))(t).ownTime() }
	for name, own := range map[string]*float64{
		"tcp_rr":                ownTime(of(func(*traffic.Params) {})),
		"tcp_rr, several flows": ownTime(of(func(p *traffic.Params) { p.Streams = 3 })),
		"tcp_crr":               crr(of(func(*traffic.Params) {})),
	} {
		must.True(t, own != nil && *own > 0 && *own <= 1e-3, "%s: own time %v", name, own)
	}
	if own := ownTime(of(func(p *traffic.Params) { p.TransactionRate = 100 })); own != nil {
		t.Errorf("tcp_rr with a schedule: an own time of %g s", *own)
	}
}

// A trial of exchanges has its client's own time, and its server has none.
func TestTrialHasOwnTime(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, kind := range []string{"tcp_rr", "tcp_crr"} {
		for _, n := range implementations() {
			p := loopback.Params(kind)
			p.Warmup, p.Duration = 0, 20*time.Millisecond
			w := loopback.KindOf(over(n), kind)
			client, server, err := loopback.Between(t.Context(), w, w, p)
			must.True(t, err == nil && client.OwnTime != nil && server.OwnTime == nil, "%s, %s: own time %v, of the server %v, %v", kind, n.name, client.OwnTime, server.OwnTime, err)
		}
	}
}
