package containers

import (
	"context"
	"fmt"
	"time"

	"tare/internal/driver/remote"
	"tare/internal/engine"
	"tare/internal/result"
)

// The engines of a Swarm tell each other by gossip which of them are on a network,
// and where its containers are. That an engine has joined a network goes out in four
// datagrams within a second and never again; one that has missed them refuses all that
// the other tells it of that network, and vice versa nothing reaches an engine that
// is not known to be there. What heals it is an exchange of all networks and then one
// of all entries, each every 30 seconds: a minute. (moby, libnetwork/networkdb:
// RetransmitMult, handleTableEvent, PushPullInterval.) Datagrams are lost on a busy
// machine. So whoever was not heard joins again, which is told again.

// GossipTimeout is how long the ends of a Swarm's network are given to reach each other,
// beside what it takes to start containers again, if the mode's own time limit leaves so
// much: twice as long as gossip takes to heal by itself, and a little more. firstHeard and
// longestHeard are how long gossip is given before an end joins again: each time twice as
// long, so that an engine that is merely slow is not kept from it. The longest is more than
// one of its exchanges: an end that joined again every few seconds would put an end to
// each entry before an exchange tells of it.
// behindGossip is what a mode needs of its time limit once its ends reach each other.
const (
	GossipTimeout = 150 * time.Second
	firstHeard    = 2 * time.Second
	longestHeard  = 32 * time.Second
	behindGossip  = 10 * time.Second
)

// AwaitGossip waits until the ends on a Swarm's network reach each other, and has one
// join again whenever they do not in a time. It returns how often one did, and the last
// error of meet when the time is over, or so much of the mode's own that the rest is
// needed.
func AwaitGossip(ctx context.Context, within time.Duration, meet func(ctx context.Context, wait time.Duration) error, again func(context.Context) error) (times int, err error) {
	for wait := firstHeard; ; wait = min(2*wait, longestHeard) {
		wait = min(wait, within)
		if limit, ok := ctx.Deadline(); ok {
			wait = min(wait, max(time.Until(limit)-behindGossip, firstHeard))
		}
		err := meet(ctx, wait)
		if within -= wait; !remote.IsUnreachable(err) || within <= 0 || late(ctx) {
			return times, err
		}
		if err := again(ctx); err != nil {
			return times, err
		}
		times++
	}
}

// late reports whether the time limit leaves no room for another try.
func late(ctx context.Context) bool {
	limit, ok := ctx.Deadline()
	return ok && time.Until(limit) < behindGossip+firstHeard
}

// EngineNotHeard finds which of the engines of a client and a server has to join a network
// again: the client's where the server's has not heard of it, else the server's, which
// asks for all that the client's knows when it joins.
func EngineNotHeard(ctx context.Context, network string, client, server *engine.Engine) (*engine.Engine, error) {
	heard, err := server.SeesPeer(ctx, network, client)
	if heard {
		return server, err
	}
	return client, err
}

// RejoinFacts tells of ends that had to join a network again.
func RejoinFacts(times int) []result.Fact {
	if times == 0 {
		return nil
	}
	return []result.Fact{{Name: "joined again", Value: fmt.Sprintf("%d times: the engines had not heard of each other", times)}}
}
