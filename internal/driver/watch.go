package driver

import (
	"cmp"
	"context"
	"time"

	"tare/internal/observe/losses"
	"tare/internal/observe/netstack"
	"tare/internal/timelimit"
)

// State returns the state of the stack after traffic failed, from its counters as they were then.
// What cannot be read is left out.
func (n NetworkStack) State(ctx context.Context, now netstack.Reading) losses.State {
	st := losses.State{NoForwarding: now.Counters["Ip.Forwarding"] == notForwarding}
	if !n.Shared { // others leave neighbours behind that do not answer
		st.Unresolved = now.Unresolved
	}
	if n.ReadTracked != nil {
		if is, tracks, err := n.ReadTracked(ctx); err == nil && tracks {
			st.Tracked, st.Limit = is.Count, is.Max
		}
	}
	if n.Survey != nil {
		if set, err := n.Survey(ctx); err == nil {
			for _, f := range set.Filters {
				if f.Drops {
					st.Policies = append(st.Policies, f.Family+" "+f.Table+" "+f.Chain)
				}
			}
		}
	}
	return st
}

// notForwarding is the value of Forwarding in /proc/net/snmp of a host that does not forward.
const notForwarding = 2

// Watch is what was read of the stacks of a path before it was probed.
type Watch struct {
	stacks []NetworkStack
	before []netstack.Reading
	ends   map[string]bool // stacks of endpoints
}

// WatchStacks reads the counters of the stacks of a path before it is probed.
func WatchStacks(ctx context.Context, stacks []NetworkStack, pairs []Pair) *Watch {
	w := &Watch{ends: map[string]bool{}}
	for _, p := range pairs {
		w.ends[p.Client.Stack], w.ends[p.Server.Stack] = true, true
	}
	for _, s := range stacks {
		if s.Read == nil {
			continue
		}
		if r, err := s.Read(ctx); err == nil {
			w.stacks, w.before = append(w.stacks, s), append(w.before, r)
		}
	}
	return w
}

// watchTime limits how long it takes to read why a probe failed: its own time may be over.
func watchTime() time.Duration { return timelimit.Scaled(5 * time.Second) }

// Cause says where the packets of a probe that failed were dropped and by what, or else what its ends sent; empty if
// the counters show neither. size is that of its packets in bytes, 0 if they differ.
func (w *Watch) Cause(ctx context.Context, size int) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchTime())
	defer cancel()
	f := losses.Failure{Size: size}
	for i, n := range w.stacks {
		now, err := n.Read(ctx)
		if err != nil {
			continue
		}
		s := losses.Stack{Name: n.Name, Boot: w.before[i].Boot, Deltas: now.Since(w.before[i]), Kinds: now.Kinds, Shared: n.Shared, State: n.State(ctx, now)}
		if w.ends[n.Name] {
			s.Sockets = &losses.SocketTotals{}
		}
		f.Stacks = append(f.Stacks, s)
	}
	return cmp.Or(f.Cause(), f.Carried())
}
