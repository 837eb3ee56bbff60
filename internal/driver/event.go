package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/timelimit"
)

// Event is something that happens on a path while it carries traffic, such as a link that goes down. A driver makes it and shows by the
// system's own state that it happened.
type Event struct {
	Name  string // as studies write it
	Title string // what happens, in a few words: "the underlay link is down for 200 ms"
	// Flaps means that the event takes links of the path down, so that their counters of carrier changes show no fault.
	Flaps bool
	// Elsewhere names, for counters of State, the counters of the path that lack what these count: the event leads packets past them.
	Elsewhere map[string]string
	// State reads what shows that the event happened: counters, ids and values of the system, not of this program.
	State func(ctx context.Context) (Counters, error)
	// Successor, which may be nil, is the server that takes the place of that of the first pair, whose sandbox ends: its agent is launched before
	// Do, and runs once Do has started it. The run ends the first server right before Do. It listens at Listen. Its traffic is that of the
	// first pair: Elsewhere has what counts it.
	Successor *Endpoint
	// Prepare, which may be nil, makes what must be there when the event begins, such as what takes the place of something that is lost.
	// Its undo is called after that of Do.
	Prepare func(ctx context.Context) (undo func(context.Context) error, err error)
	// Do makes the event and returns when it is over, or in effect. It ends with its context. Undo, which may be nil, is called once when the
	// trial has ended, also if Do failed, and restores what the next trial must find. Its context is done if there is none, because the run was
	// interrupted: then it waits for nothing, and Close of the path removes what it leaves.
	Do func(ctx context.Context) (undo func(context.Context) error, err error)
	// Happened compares what State read before Do and at the end of the trial, before undo. Its error says what did not change.
	Happened func(before, after Counters) error
}

// PolicyAdded is the event in which rules of a packet filter are added that let the path's traffic pass.
const PolicyAdded = "policy_added"

// RouteChange and LinkLost are the events of the modes of a lab whose clients dial an address of the server's host in which traffic moves to a
// second link between the hosts: its route does, or the link is lost.
const (
	RouteChange = "route_change"
	LinkLost    = "link_lost"
)

// EventTimeout bounds how long an event may take, and how long to undo it.
func EventTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// ErrNoEvent means that an event did not happen although its driver made it without an error.
var ErrNoEvent = errors.New("did not happen")

// EventNamed finds an event of the path. Its error says which events the path has.
func (p *Path) EventNamed(name string) (Event, error) {
	i := slices.IndexFunc(p.Events, func(e Event) bool { return e.Name == name })
	if i >= 0 {
		return p.Events[i], nil
	}
	return Event{}, errors.New(noEvent(name, p.eventNames()))
}

func (p *Path) eventNames() (names []string) {
	for _, e := range p.Events {
		names = append(names, e.Name)
	}
	return names
}

// noEvent says in a clause that a mode lacks an event.
func noEvent(name string, has []string) string {
	if len(has) == 0 {
		return fmt.Sprintf("it has no event %s, and no other", name)
	}
	return fmt.Sprintf("it has no event %s, only %s", name, strings.Join(has, ", "))
}

// Moved returns an error unless a value of the state of an event increased by at least least.
func Moved(before, after Counters, name string, least uint64) error {
	was, known := before[name]
	is, still := after[name]
	if !known || !still {
		return fmt.Errorf("%s could not be read (%s)", name, strings.Join(slices.Sorted(maps.Keys(after)), ", "))
	}
	if is < was+least {
		return fmt.Errorf("%s went from %d to %d, not up by %d", name, was, is, least)
	}
	return nil
}

// Replaced is Happened of an event in which one server takes the place of another: first counts what leads to the one that was
// there, of which nothing may be left, and second what leads to the other, of which there must be as much more.
func Replaced(first, second string) func(before, after Counters) error {
	return func(before, after Counters) error {
		if n := after[first]; n > 0 {
			return fmt.Errorf("%s is still %d", first, n)
		}
		return Moved(before, after, second, max(1, before[first]))
	}
}
