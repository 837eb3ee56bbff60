package tcp

import (
	"net/netip"
	"testing"
	"time"

	"tare/internal/must"
	"tare/internal/traffic"
)

// Connections without an answer are counted while others have one. If none ever had one, or too many in a
// row have none, the server has gone.
func TestCRRUnanswered(t *testing.T) {
	const ms = time.Millisecond
	to := netip.MustParseAddrPort("198.18.0.2:5201")
	window := func(before int64) *crrWindow {
		p := traffic.Params{Streams: 1, Duration: 100 * ms}
		return &crrWindow{
			crrTrial: crrTrial{Params: p}, bins: traffic.LoopCounter{BinCounter: traffic.NewBinCounter(p), Flows: 1},
			connect: traffic.NewDistribution(), firstByte: traffic.NewDistribution(), before: before, made: 9,
		}
	}
	must.FailFor(t, "the first of all", window(0).fail(to, 0, 5*ms), "198.18.0.2:5201 did not answer within", "after 9 others")
	w := window(1)
	for i := range time.Duration(4) {
		must.Do(t, w.fail(to, i*10*ms, (i+1)*10*ms))
	}
	w.done(40*ms, 41*ms, 42*ms, 43*ms)
	must.Do(t, w.fail(to, 43*ms, 143*ms))
	must.Equal(t, []any{int64(1), int64(5), 143 * ms}, []any{w.bins.Counted(), w.bins.Failed, w.bins.Time()})
	for range 3 {
		must.Do(t, w.fail(to, 0, 0))
	}
	must.FailFor(t, "five in a row", w.fail(to, 0, 0), "did not answer")
	client := traffic.Report{Window: traffic.Window{Seconds: 1, Messages: 15, Failed: 5}}
	m, _ := crr{}.Metrics(traffic.Params{}, client, traffic.Report{})
	must.Equal(t, map[string]float64{"connection_rate": 15, "loss_ratio": 0.25}, m)
}
