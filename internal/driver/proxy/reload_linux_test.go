package proxy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// While requests are in progress, nginx or HAProxy replaces its workers: the event is proven by their ids, what failed is counted by
// kind, each request is found at the proxies though it was of a worker that has ended, and the path of the next trial is proven, too.
func TestEnginesProxyReload(t *testing.T) {
	for name, provision := range map[string]func(*testing.T) *drivertest.Setup{
		"nginx": func(t *testing.T) *drivertest.Setup {
			return with{"program": "nginx", "placement": "server"}.provision(t, 1)
		},
		"haproxy":        func(t *testing.T) *drivertest.Setup { return with{"placement": "server"}.provision(t, 1) },
		"haproxy, two":   func(t *testing.T) *drivertest.Setup { return with{"reuse": "off", "tls": "mutual"}.provision(t, 2) },
		"haproxy of TCP": func(t *testing.T) *drivertest.Setup { return variant{"proxy/l4", "haproxy", "both"}.provision(t, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := provision(t)
			p := drivertest.Params("http")
			if name == "haproxy of TCP" {
				p = drivertest.Params("tcp_rr")
				p.RequestSize, p.ResponseSize = 4096, 4096
			}
			reloadWithin(t, s, p)
			if name == "haproxy" {
				reloadWithin(t, s, p) // replaces the new worker
			}
			_, _, err := s.Trial(t, p, false)
			must.Do(t, err)
		})
	}
	s := variant{"proxy/l4", "tare", "both"}.provision(t, 1)
	_, err := s.Path.EventNamed("proxy_reload")
	must.Fail(t, err, "it has no event proxy_reload, only link_down, policy_added")
}

// reloadWithin is a trial in whose middle the proxies reload.
func reloadWithin(t *testing.T, s *drivertest.Setup, p traffic.Params) {
	t.Helper()
	e := must.Get(s.Path.EventNamed("proxy_reload"))(t)
	r := s.TrialWithEvent(t, e, p, 10*time.Second, false) // a reload may take 3 s on a busy machine
	must.Fail(t, e.Happened(r.After, r.After), "has 0 new workers")
	must.Do(t, r.Undo(t.Context()))
	must.Do(t, s.Proof(t, r.Counters, []driver.Carried{driver.CarriedBy(r.Client, r.Server)}))
	seen := r.Client.Window.Event
	if seen == nil || seen.Due != r.Due || seen.Gap <= 0 || seen.Lost == nil {
		t.Fatalf("%+v", seen)
	}
	failed := int64(0)
	for _, n := range seen.Failed {
		failed += n
	}
	must.Equal(t, seen.Due-seen.Answered, failed)
}

// A proxy whose new configuration is not valid keeps its workers, and the event does not end.
func TestEnginesReloadRefused(t *testing.T) {
	s := with{"placement": "server"}.provision(t, 1)
	e := must.Get(s.Path.EventNamed("proxy_reload"))(t)
	before := must.Get(e.State(t.Context()))(t)
	config := filepath.Join("/proc", strconv.Itoa(s.Path.Processes()[0]), "root/run/proxy.cfg")
	must.Do(t, os.WriteFile(config, []byte("nonsense\n"), 0o600))
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("timed out"))
	defer cancel()
	undo, err := e.Do(ctx)
	must.FailLine(t, "the event", err, "wait for the new workers of the proxy in b: timed out")
	must.Fail(t, e.Happened(before, must.Get(e.State(t.Context()))(t)), "has 0 new workers")
	must.Do(t, undo(t.Context()))
	_, _, err = s.Trial(t, drivertest.Params("http"), false)
	must.Do(t, err)
}
