package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/study"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// TrialFanIn runs a trial of the clients of the first n pairs with the server of the first one, and returns the result of verifying the
// path. One that carried too little is repeated as TrialPairs does it.
func (s *Setup) TrialFanIn(t testing.TB, p traffic.Params, ipv6 bool, n int) (clients []traffic.Report, server traffic.Report, proof error) {
	t.Helper()
	for {
		clients, server, proof = s.trialFanIn(t, p, ipv6, n)
		if !errors.Is(proof, driver.ErrTooLittleTraffic) || 2*p.Duration > longest()+s.Grace {
			return clients, server, proof
		}
		p.Duration *= 2
		t.Logf("%s: a window of %s, because the one before was too short: %v", p.Kind, p.Duration, proof)
	}
}

func (s *Setup) trialFanIn(t testing.TB, p traffic.Params, ipv6 bool, n int) (clients []traffic.Report, server traffic.Report, proof error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timelimit.Scaled(30*time.Second)+p.Duration+s.Grace)
	defer cancel()
	if s.Grace > 0 {
		p.Limit = p.Warmup + p.Duration + s.Grace
	}
	p.Token, p.FanIn = loopback.NewToken(), n
	before := s.Snapshot(t)
	to := s.Path.Pairs[0].Server
	listen, dial, err := to.Reach(ipv6)
	must.Do(t, err)
	client, at := p, p
	client.Address, at.Address = dial.String(), listen.String()
	client.Host, at.Host = to.HostFor(p.Kind), to.HostFor(p.Kind)
	var ends []*agent.Client
	for _, pair := range s.Ends[:n] {
		ends = append(ends, pair.Client)
	}
	trials := must.Get(agent.BeginFanIn(ctx, ends, s.Ends[0].Server, slices.Repeat([]traffic.Params{client}, n), at))(t)
	clients = make([]traffic.Report, n)
	servers, errs := make([]traffic.Report, n), make([]error, n)
	var wg sync.WaitGroup
	for i, trial := range trials {
		wg.Go(func() { clients[i], servers[i], errs[i] = trial.Run(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%s: %v", p.Kind, err)
	}
	return clients, servers[0], s.Proof(t, before, driver.CarriedFanIn(clients, servers[0]))
}

// ConformsFanIn checks that the clients of all pairs of a path, two or more, can have the server of the first one: their path is proven, and the
// server answers what they ask. If each has a server of its own, the same proof fails where the servers have sandboxes.
func (s *Setup) ConformsFanIn(t *testing.T, kind string, ipv6 bool) {
	t.Helper()
	n, p := len(s.Path.Pairs), Params(kind)
	p.KeepAlive = study.On
	clients, server, err := s.TrialFanIn(t, p, ipv6, n)
	if err != nil {
		t.Errorf("%s of %d clients of one server: %v", kind, n, err)
	}
	var asked int64
	for i, c := range clients {
		asked += c.Messages
		if c.Messages == 0 {
			t.Errorf("%s: client %d of %d has no answer", kind, i+1, n)
		}
	}
	must.EqualFor(t, kind+": answers", asked, server.Messages)
	if !slices.ContainsFunc(s.Path.Rules, func(r driver.Rule) bool { return r.Pair > 1 && !r.OfClient }) {
		return
	}
	var before driver.Counters
	var all []Reports
	for {
		before = s.Snapshot(t)
		if all, err = s.trialPairs(t, p, ipv6, n); !errors.Is(err, driver.ErrTooLittleTraffic) || 2*p.Duration > longest()+s.Grace {
			break
		}
		p.Duration *= 2
	}
	if err != nil {
		t.Errorf("%s of %d pairs: %v", kind, n, err)
	}
	own := all[0].Server
	for i, r := range all {
		if clients[i] = r.Client; i > 0 {
			own = traffic.Sum(own, r.Server)
		}
	}
	if err := s.Proof(t, before, driver.CarriedFanIn(clients, own)); err == nil || errors.Is(err, driver.ErrTooLittleTraffic) {
		t.Errorf("%s: the traffic of %d clients that each had a server of its own as that of one server: %v", kind, n, err)
	}
}
