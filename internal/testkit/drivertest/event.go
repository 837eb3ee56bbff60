package drivertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// EventTrial is a trial of the first pair in which an event has happened, and was not undone.
type EventTrial struct {
	*agent.Trial
	Due            int64 // requests of the schedule in its window
	Client, Server traffic.Report
	Counters       driver.Counters // of the path, before the trial
	Before, After  driver.Counters // of the event's State
	Undo           func(context.Context) error
}

// eventRate is how many requests per second a trial with an event has.
const eventRate = 200

// mostDoublings is how often the window of a trial is doubled that its event has outlasted.
const mostDoublings = 5

// TrialWithEvent makes an event a third of the window's length after requests are answered, with 8 flows and 200 requests/s. In endpoint_replaced the server of
// the second pair takes the place of the first one. Where this machine takes so long that the window ends before the event does, the event is undone, and
// made again in a window of twice the length.
func (s *Setup) TrialWithEvent(t *testing.T, e driver.Event, p traffic.Params, window time.Duration, ipv6 bool) EventTrial {
	t.Helper()
	for doublings := 0; ; doublings++ {
		r, err := s.trialWithEvent(t, e, p, window, ipv6)
		if err == nil {
			r.After = must.Get(e.State(t.Context()))(t)
			must.Do(t, e.Happened(r.Before, r.After))
			return r
		}
		if !outlasted(err) || doublings == mostDoublings {
			t.Fatal(err)
		}
		t.Logf("a window of %s: %v", window, err)
		must.Do(t, r.Undo(t.Context()))
		window *= 2
	}
}

// outlasted reports whether a trial has failed because its window has ended before its event did.
func outlasted(err error) bool {
	text := err.Error()
	return strings.Contains(text, "the event had not happened when the trial ended") || strings.Contains(text, "which is not within the timed window")
}

// trialWithEvent is one trial, with the error of the trial itself. What the event did is in r also then.
func (s *Setup) trialWithEvent(t *testing.T, e driver.Event, p traffic.Params, window time.Duration, ipv6 bool) (r EventTrial, err error) {
	t.Helper()
	r.Counters = s.Snapshot(t)
	listen, dial, err := s.Path.Pairs[0].Server.Reach(ipv6)
	must.Do(t, err)
	p.Host = s.Path.Pairs[0].Server.HostFor(p.Kind)
	p.Streams, p.TransactionRate, p.Event, p.Warmup, p.Duration = 8, eventRate, e.Name, 200*time.Millisecond, window
	r.Due = int64(window * eventRate / time.Second)
	client, server := p, p
	client.Address, server.Address = dial.String(), listen.String()
	client.Progress = traffic.MinProgressInterval
	answered, ended := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(answered) })
	s.Ends[0].Client.Watch(func(traffic.Progress) { first() })
	r.Trial = must.Get(agent.Begin(t.Context(), s.Ends[0].Client, s.Ends[0].Server, client, server))(t)
	replace := func(context.Context) error { return nil }
	successor := func() *agent.Successor { return nil }
	if e.Successor != nil {
		second := p
		listen, _, err := e.Successor.Reach(ipv6)
		must.Do(t, err)
		second.Address = listen.String()
		r.ExpectSuccessor(t.Context())
		successor = func() *agent.Successor {
			return r.LaunchSuccessor(t.Context(), e.Successor.Launcher, s.Lab.Spec.Claim.ID, e.Successor.Name, second)
		}
	} else if e.Name == study.EndpointReplaced {
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
		ctx, cancel := context.WithTimeout(t.Context(), driver.EventTimeout())
		defer cancel()
		last, err := of(ctx)
		if last != nil {
			undo = append(undo, last)
		}
		return err
	}
	made, told := make(chan error, 1), make(chan error, 1) // what the event itself returns, and what the trial's agents do
	go func() {
		select {
		case <-answered:
		case <-ended:
			made <- nil // the error of the trial tells
			told <- errors.New("the trial ended without progress")
			return
		}
		time.Sleep(window / 3)
		var err error
		if e.Prepare != nil {
			err = step(e.Prepare)
		}
		next := successor()
		began := r.Event(t.Context(), false)
		if next != nil {
			t.Cleanup(func() { must.Do(t, next.End()) })
			began = errors.Join(began, r.Replace(t.Context()))
		}
		if err == nil {
			err = step(e.Do)
		}
		if err == nil && next != nil {
			began = errors.Join(began, next.Await(t.Context()))
		}
		made <- err
		told <- errors.Join(began, replace(t.Context()), r.Event(t.Context(), true))
	}()
	r.Client, r.Server, err = r.Run(t.Context())
	close(ended)
	must.Do(must.Named(t, "make the event "+e.Name), <-made)
	if last := <-told; err == nil { // an agent whose trial has failed refuses what it is told
		err = last
	}
	return r, err
}

// CheckRouteChange makes the event route_change in a trial of http. While requests are in progress, what the client's host sends to the
// server's moves to a second link: the counters of both links together prove the path, those of the first alone do not, and afterwards
// there is no second link.
func (s *Setup) CheckRouteChange(t *testing.T, ipv6 bool) {
	t.Helper()
	e := must.Get(s.Path.EventNamed(driver.RouteChange))(t)
	p := Params("http")
	p.KeepAlive = study.On
	r := s.TrialWithEvent(t, e, p, 6*time.Second, ipv6)
	must.Fail(t, e.Happened(r.After, r.After), "a/eth1.tx_packets went from")
	s.checkMoved(t, e, r, ipv6)
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
	if seen := r.Client.Window.Event; seen == nil || seen.Due != r.Due || seen.Gap <= 0 {
		t.Fatalf("%+v", seen)
	}
	_, _, err := s.Trial(t, Params("http"), ipv6)
	must.Do(t, err)
	t.Logf("a gap of %.3g s, %d connections lost, %v", r.Client.Window.Event.Gap, *r.Client.Window.Event.Lost, r.Client.Window.Event.Failed)
}
