package web

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// In a trial with an event requests may fail as often in a row as they are due: each is tried once and counted by kind. Without an
// event as many end the trial.
func TestHTTPEvent(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	const first, failing = 250, 150
	tests := map[string]func(*testing.T){}
	for _, n := range implementations() {
		tests[n.name] = func(t *testing.T) {
			p := httpParams(2, 0, 300, study.On)
			p.TransactionRate, p.Warmup, p.Duration = 1000, 0, 2500*time.Millisecond // far more than until then
			var requests atomic.Int64
			var clock atomic.Pointer[traffic.EventClock]
			s := theirs(t, p, func(w http.ResponseWriter, _ *http.Request) bool {
				at := requests.Add(1) - first
				if at < 0 || at >= failing {
					return false
				}
				if c := clock.Load(); c != nil {
					c.Begin()
					c.End()
				}
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			})
			p.Address = s.Listener.Addr().String()
			_, err := httpRequests{n}.Dial(t.Context(), p, nil)
			must.FailFor(t, n.name, err, "the answer is 503 Service Unavailable, as did 100 before it")

			requests.Store(0)
			p.Event, p.EventClock = "something", traffic.NewEventClock()
			clock.Store(p.EventClock)
			c := must.Get(httpRequests{n}.Dial(t.Context(), p, nil))(must.Named(t, n.name))
			e := c.Window.Event
			if e == nil || e.Due != 2500 || e.Failed[httpServerError.String()] != failing || e.Due-e.Answered != failing+e.Failed["not answered in the trial"] || *e.Lost != 0 || e.Gap <= 0 {
				t.Errorf("%s: %+v", n.name, e)
				return
			}
			m, _ := httpRequests{}.Metrics(p, c, traffic.Report{})
			if _, rated := m["transaction_rate"]; rated || m[result.LongestGap] != e.Gap || m["loss_ratio"] != float64(e.Due-e.Answered)/2500 || c.Window.Missed != 0 {
				t.Errorf("%s: %v", n.name, m)
			}
		}
	}
	loopback.AtOnce(t, tests)
}
