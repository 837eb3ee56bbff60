package drivertest

import (
	"context"
	"errors"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// EventTrial is a trial of the first pair in which an event has happened, and was not undone.
type EventTrial struct {
	*agent.Trial
	Client, Server traffic.Report
	Counters       driver.Counters // of the path, before the trial
	Before, After  driver.Counters // of the event's State
	Undo           func(context.Context) error
}

// TrialWithEvent makes an event a third of the window's length after requests are answered, with 8 flows and 200 requests/s. In endpoint_replaced the server of
// the second pair takes the place of the first one.
func (s *Setup) TrialWithEvent(t *testing.T, e driver.Event, p traffic.Params, window time.Duration, ipv6 bool) (r EventTrial) {
	t.Helper()
	r.Counters = s.Snapshot(t)
	listen, dial, err := s.Path.Pairs[0].Server.Reach(ipv6)
	must.Do(t, err)
	p.Host = s.Path.Pairs[0].Server.HostFor(p.Kind)
	p.Streams, p.TransactionRate, p.Event, p.Warmup, p.Duration = 8, 200, e.Name, 200*time.Millisecond, window
	client, server := p, p
	client.Address, server.Address = dial.String(), listen.String()
	client.Progress = traffic.MinProgressInterval
	answered, ended := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(answered) })
	s.Ends[0].Client.Watch(func(traffic.Progress) { first() })
	r.Trial = must.Get(agent.Begin(t.Context(), s.Ends[0].Client, s.Ends[0].Server, client, server))(t)
	replace := func(context.Context) error { return nil }
	if e.Name == study.EndpointReplaced {
		second := p
		listen, _, err := s.Path.Pairs[1].Server.Reach(ipv6)
		must.Do(t, err)
		second.Address = listen.String()
		must.Do(t, r.Standby(t.Context(), s.Ends[1].Server, second))
		replace = r.Replace
	}
	r.Before = must.Get(e.State(t.Context()))(t)
	var undo []func(context.Context) error
	r.Undo = func(ctx context.Context) (err error) {
		for _, last := range slices.Backward(undo) {
			err = errors.Join(err, last(ctx))
		}
		return err
	}
	step := func(of func(context.Context) (func(context.Context) error, error)) error {
		last, err := of(t.Context())
		if last != nil {
			undo = append(undo, last)
		}
		return err
	}
	made := make(chan error, 1)
	go func() {
		select {
		case <-answered:
		case <-ended:
			made <- errors.New("the trial ended without progress")
			return
		}
		time.Sleep(window / 3)
		var err error
		if e.Prepare != nil {
			err = step(e.Prepare)
		}
		err = errors.Join(err, r.Event(t.Context(), false))
		if err == nil {
			err = step(e.Do)
		}
		made <- errors.Join(err, replace(t.Context()), r.Event(t.Context(), true))
	}()
	r.Client, r.Server, err = r.Run(t.Context())
	close(ended)
	must.Do(t, errors.Join(err, <-made))
	r.After = must.Get(e.State(t.Context()))(t)
	must.Do(t, e.Happened(r.Before, r.After))
	return r
}

// CheckRouteChange makes the event route_change in a trial of http. While requests are in progress, what the client's host sends to the
// server's moves to a second link: the counters of both links together prove the path, those of the first alone do not, and afterwards
// there is no second link.
func (s *Setup) CheckRouteChange(t *testing.T, ipv6 bool) {
	t.Helper()
	e := must.Get(s.Path.EventNamed(labdriver.RouteChange))(t)
	p := Params("http")
	p.KeepAlive = study.On
	r := s.TrialWithEvent(t, e, p, 6*time.Second, ipv6)
	must.Fail(t, e.Happened(r.After, r.After), "a/eth1.tx_packets went from")
	s.checkMoved(t, e, r, ipv6)
}

// CheckLinkLost makes the event link_lost in a trial of http. While requests are in progress, the link between the hosts loses its carrier
// at both, and what they send moves to a second link: the counters of both links together prove the path, those of the first alone do
// not. Afterwards addresses, routes and neighbours of both hosts are as before.
func (s *Setup) CheckLinkLost(t *testing.T, ipv6 bool) {
	t.Helper()
	e := must.Get(s.Path.EventNamed(labdriver.LinkLost))(t)
	mac := must.Get(s.Lab.B.NS.Links().HardwareAddr(lab.Underlay))(t)
	for _, to := range s.Lab.B.Addr {
		must.Do(t, s.Lab.A.NS.Routes().Neighbour(lab.Underlay, to, mac))
	}
	before := s.network(t)
	must.True(t, strings.Contains(before, "PERMANENT") && strings.Contains(before, s.Lab.A.Addr[0].String()), "the hosts have %s", before)
	p := Params("http")
	p.KeepAlive = study.On
	r := s.TrialWithEvent(t, e, p, 6*time.Second, ipv6)
	must.Fail(t, e.Happened(r.Before, r.Before), "a/eth0.carrier_changes went from")
	for _, lacks := range []string{"a/eth0.no_carrier", "b/eth0.no_carrier", "a/eth1.routes", "b/eth1.routes", "a/eth1.rx_packets", "b/eth1.tx_packets"} {
		part := maps.Clone(r.After)
		part[lacks] = r.Before[lacks]
		must.Fail(t, e.Happened(r.Before, part), lacks+" went from 0 to 0")
	}
	must.True(t, s.network(t) != before, "with a link lost the hosts have what they had before")
	s.checkMoved(t, e, r, ipv6)
	after := s.network(t)
	for until := time.Now().Add(driver.EventTimeout()); after != before && time.Now().Before(until); after = s.network(t) {
		time.Sleep(50 * time.Millisecond) // the kernel completes link-local addresses by itself
	}
	must.Equal(t, before, after)
}

// network is what ip(8) says of the addresses, routes and permanent neighbours of both hosts.
func (s *Setup) network(t *testing.T) string {
	t.Helper()
	var all []string
	for _, h := range []*lab.Host{s.Lab.A, s.Lab.B} {
		for _, args := range []string{"-o address", "-4 route show table all", "-6 route show table all", "neighbour show nud permanent"} {
			var out strings.Builder
			cmd := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...)
			cmd.Stdout = &out
			must.Do(t, h.NS.Start(cmd))
			must.Do(must.Named(t, "ip "+args), cmd.Wait())
			for line := range strings.Lines(out.String()) {
				// The kernel joins the anycast address of a router's subnet twice where that becomes a router while it gets its address, and then
				// routes it until the device goes down for the first time.
				if !strings.HasPrefix(line, "anycast ") {
					all = append(all, h.Name+": "+line)
				}
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// checkMoved undoes an event that has led a trial's packets to a second link, which is gone then, and checks that the path is proven by
// the counters of both links, by those of the first alone it is not, and that the next trial finds everything as before.
func (s *Setup) checkMoved(t *testing.T, e driver.Event, r EventTrial, ipv6 bool) {
	t.Helper()
	must.Do(t, r.Undo(t.Context()))
	must.Do(t, r.Undo(t.Context())) // there is nothing left
	undone := must.Get(e.State(t.Context()))(t)
	for name, was := range r.Before {
		must.True(t, undone[name] == was || strings.HasSuffix(name, driver.CarrierChanges), "%s is %d, and was %d", name, undone[name], was)
	}

	carried := []driver.Carried{driver.CarriedBy(r.Client, r.Server)}
	must.Fail(t, s.Proof(t, r.Counters, carried), "counter a/eth0.tx_bytes moved by")
	whole := must.Get(s.Path.Snapshot(t.Context()))(t)
	for from, of := range e.Elsewhere {
		whole[of] += r.After[from] - r.Before[from]
	}
	must.Do(t, s.Path.Prove(r.Counters, whole, carried))
	if seen := r.Client.Window.Event; seen == nil || seen.Due != 1200 || seen.Gap <= 0 {
		t.Fatalf("%+v", seen)
	}
	_, _, err := s.Trial(t, Params("http"), ipv6)
	must.Do(t, err)
	t.Logf("a gap of %.3g s, %d connections lost, %v", r.Client.Window.Event.Gap, *r.Client.Window.Event.Lost, r.Client.Window.Event.Failed)
}
