package web

import (
	"net/http"
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/traffic/http1"
)

// The responses of a mix have the sizes of the requests in their order, over kept connections and over one each; a request for another
// size is refused.
func TestHTTPMix(t *testing.T) {
	t.Parallel()
	loopback.Room(t)
	for i, keep := range []string{study.On, study.Off} {
		for _, flows := range []int{1, 3} {
			for _, on := range covering(i) {
				p := httpParams(flows, 0, 0, keep)
				p.ResponseMix = "3x10,1x20000,1x100000"
				trial := must.Get(newHTTPTrial(p))(t)
				address, stop := httpServing(t, on.Server, p)
				p.Address = address
				c := must.Get(httpRequests{on.Client}.Dial(t.Context(), p, nil))(must.Named(t, on))
				r := must.Get(http.DefaultTransport.RoundTrip(ask(t, "http://"+address+"/3", trial.ask)))(t)
				r.Body.Close()
				must.Equal(t, http.StatusBadRequest, r.StatusCode)
				s := stop()
				var bodies int64
				for k := range c.Messages {
					bodies += int64(trial.mix.sizes[trial.mix.order[k%5]])
				}
				if heads := c.Received - bodies; c.Messages == 0 || c.Messages != s.Messages || c.Received != s.Sent || c.Window.Failed > 0 || heads < 100*c.Messages || heads > 300*c.Messages {
					t.Errorf("%s, keep_alive %s: %d and %d messages, %d bytes of %d, of bodies %d, %v", on, keep, c.Messages, s.Messages, c.Received, s.Sent, bodies, c.Notes)
				}
				if c.OwnTime != nil || c.TCP.Segments > 0 && c.TCP.Received < uint64(c.Received) && keep == study.On {
					t.Errorf("%s: own time %v, %+v", on, c.OwnTime, c.TCP)
				}
			}
		}
	}
}

// ask is a request of net/http with that tag.
func ask(t *testing.T, url, tag string) *http.Request {
	t.Helper()
	q := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t)
	q.Header.Set(http1.TagField, tag)
	return q
}
