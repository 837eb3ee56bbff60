package web

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// The client's own time of an exchange in a closed loop is of the size of some readings of a clock; of a schedule, in TLS, and of what
// is too large to read so often, it is unknown.
func TestOwnTimeHTTP(t *testing.T) {
	t.Parallel()
	own := func(change func(*traffic.Params)) *float64 {
		p := traffic.ParamsOf(study.Workload{Kind: "http", Flows: 1, RequestSize: 1, ResponseSize: 1})
		p.Token = "0123456789abcdef"
		change(&p)
		trial := must.Get(newHTTPTrial(p))(t)
		return trial.ownTime()
	}
	for name, own := range map[string]*float64{
		"kept connections":            own(func(*traffic.Params) {}),
		"a connection for each":       own(func(p *traffic.Params) { p.KeepAlive = study.Off }),
		"a response of several reads": own(func(p *traffic.Params) { p.ResponseSize = 100 << 10 }),
	} {
		must.True(t, own != nil && *own > 0 && *own <= 1e-3, "%s: own time %v", name, own)
	}
	for name, own := range map[string]*float64{
		"scheduled": own(func(p *traffic.Params) { p.TransactionRate = 100 }), "in TLS": own(func(p *traffic.Params) { p.TLS = study.On }), "large": own(func(p *traffic.Params) { p.ResponseSize = 2 << 20 }),
	} {
		if own != nil {
			t.Errorf("%s: an own time of %g s", name, *own)
		}
	}
}

// A trial has its client's own time, and its server has none.
func TestHTTPTrialHasOwnTime(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for _, n := range implementations() {
		p := loopback.Params("http")
		p.Warmup, p.Duration = 0, 20*time.Millisecond
		w := loopback.KindOf(over(n), "http")
		client, server, err := loopback.Between(t.Context(), w, w, p)
		must.True(t, err == nil && client.OwnTime != nil && server.OwnTime == nil, "%s: own time %v, of the server %v, %v", n.name, client.OwnTime, server.OwnTime, err)
	}
}
