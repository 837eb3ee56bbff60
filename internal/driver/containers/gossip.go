package containers

import (
	"context"
	"fmt"
	"time"

	"tare/internal/driver/remote"
	"tare/internal/engine"
	"tare/internal/result"
)

// The engines of a Swarm tell each other by gossip which of them are on a network and where
// its containers are. An engine announces that it has joined a network in four datagrams
// within a second, and never again. An engine that missed them rejects all entries of the
// other for that network, and sends it none. Two periodic exchanges repair this, one of all
// networks and then one of all entries, each every 30 seconds, which takes a minute (moby,
// libnetwork/networkdb: RetransmitMult, handleTableEvent, PushPullInterval). On a busy
// machine datagrams are lost, so an engine that was not heard joins again, which repeats
// the announcement.

// GossipTimeout is how long the endpoints of a Swarm's network may take to reach each
// other, in addition to restarting containers, if the mode's own time limit allows it: a
// little more than twice the time that gossip takes to repair itself. firstGossipWait and
// maxGossipWait are the first and the longest wait before an endpoint joins again; each wait
// is twice the previous one, so that a slow engine has enough time. The longest is more
// than one exchange: an endpoint that joins again every few seconds would invalidate each
// entry before an exchange announces it.
const (
	GossipTimeout   = 150 * time.Second
	firstGossipWait = 2 * time.Second
	maxGossipWait   = 32 * time.Second
	behindGossip    = 10 * time.Second
)

// AwaitGossip waits until the endpoints on a Swarm's network reach each other, and makes
// one join again each time they do not within a limit. It returns how often one joined
// again, and the last error of meet when the time is over or the rest of the mode's time
// limit is needed.
func AwaitGossip(ctx context.Context, within time.Duration, meet func(ctx context.Context, wait time.Duration) error, again func(context.Context) error) (times int, err error) {
	for wait := firstGossipWait; ; wait = min(2*wait, maxGossipWait) {
		wait = min(wait, within)
		if limit, ok := ctx.Deadline(); ok {
			wait = min(wait, max(time.Until(limit)-behindGossip, firstGossipWait))
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

// late reports whether the time limit leaves no time for another attempt.
func late(ctx context.Context) bool {
	limit, ok := ctx.Deadline()
	return ok && time.Until(limit) < behindGossip+firstGossipWait
}

// Rejoin returns what makes one endpoint of a path join a network again: the client if the server's engine
// has not heard of the client's, otherwise the server, whose engine on joining requests all that the client's
// knows. discard removes what an endpoint has on the network, and start puts it there again.
func Rejoin(network string, client, server *engine.Engine, discard, start func(ctx context.Context, role string) error) func(context.Context) error {
	return func(ctx context.Context) error {
		heard, err := server.SeesPeer(ctx, network, client)
		if err != nil {
			return err
		}
		on, role := client, Client
		if heard {
			on, role = server, Server
		}
		if err := discard(ctx, role); err != nil {
			return err
		}
		if err := on.LeaveNetwork(ctx, network); err != nil {
			return err
		}
		return start(ctx, role)
	}
}

// RejoinFacts returns a fact if endpoints had to join a network again.
func RejoinFacts(times int) []result.Fact {
	if times == 0 {
		return nil
	}
	return []result.Fact{{Name: "joined again", Value: fmt.Sprintf("%d times: the engines did not know of each other", times)}}
}
