package tcp

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// The client's own time of an exchange in a closed loop is of the size of some readings of a clock; of a schedule, in TLS, and of what
// is too large to read so often, it is unknown.
func TestOwnTime(t *testing.T) {
	of := func(change func(*traffic.Params)) traffic.Params {
		p := traffic.ParamsOf(study.Workload{Kind: "http", Flows: 1, RequestSize: 1, ResponseSize: 1})
		p.Token = "0123456789abcdef"
		change(&p)
		return p
	}
	http := func(p traffic.Params) *float64 {
		trial := must.Get(newHTTPTrial(p))(t)
		return trial.ownTime()
	}
	crr := func(p traffic.Params) *float64 { return must.Get(newCRRTrial(p))(t).ownTime() }
	for name, own := range map[string]*float64{
		"tcp_rr":                            ownTime(of(func(*traffic.Params) {})),
		"tcp_rr, several flows":             ownTime(of(func(p *traffic.Params) { p.Streams = 3 })),
		"tcp_crr":                           crr(of(func(*traffic.Params) {})),
		"http":                              http(of(func(*traffic.Params) {})),
		"http, a connection for each":       http(of(func(p *traffic.Params) { p.KeepAlive = study.Off })),
		"http, a response of several reads": http(of(func(p *traffic.Params) { p.ResponseSize = 100 << 10 })),
	} {
		if own == nil || *own <= 0 || *own > 1e-3 {
			t.Errorf("%s: own time %v", name, own)
		}
	}
	scheduled := func(p *traffic.Params) { p.TransactionRate = 100 }
	for name, own := range map[string]*float64{
		"tcp_rr": ownTime(of(scheduled)), "http": http(of(scheduled)), "http, in TLS": http(of(func(p *traffic.Params) { p.TLS = study.On })), "http, large": http(of(func(p *traffic.Params) { p.ResponseSize = 2 << 20 })),
	} {
		if own != nil {
			t.Errorf("%s: an own time of %g s", name, *own)
		}
	}
}

// A trial of exchanges has its client's own time, and its server has none.
func TestTrialHasOwnTime(t *testing.T) {
	room(t)
	for _, kind := range []string{"tcp_rr", "tcp_crr", "http"} {
		for _, n := range implementations() {
			p := params(kind)
			p.Warmup, p.Duration = 0, 20*time.Millisecond
			w := kindOf(over(n), kind)
			client, server, err := between(t.Context(), w, w, p)
			if err != nil || client.OwnTime == nil || server.OwnTime != nil {
				t.Errorf("%s, %s: own time %v, of the server %v, %v", kind, n.name, client.OwnTime, server.OwnTime, err)
			}
		}
	}
}
