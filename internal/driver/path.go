package driver

import (
	"context"
	"fmt"
	"maps"
	"time"

	"tare/internal/agent"
	"tare/internal/result"
)

// Path is a mode that is set up: the pairs of endpoints, the devices between them, and the
// rules that verify that traffic took this path. It consists of data and a few functions,
// so that a caller can replace one part and keep the others. Functions that may be nil say
// so.
type Path struct {
	Mode string
	// Hosts are the machines that the path has endpoints or devices on, each once, starting
	// with that of the first client.
	Hosts []Host
	// Pairs are the endpoints, as many pairs as requested. A trial may leave the last ones
	// idle.
	Pairs []Pair
	// Stacks are the network stacks on the path, each once: those of the endpoints, named
	// in Endpoint.Stack, and those between them. Without them lost datagrams cannot be
	// attributed.
	Stacks []NetworkStack
	// Rules state what the path's counters must show. Checks are further conditions that
	// must hold after a trial.
	Rules  []Rule
	Checks []func() error
	// CountersLate is how late counters of the path may be, because network cards on it copy
	// them from hardware now and then; 0 for the kernel's own.
	CountersLate time.Duration
	// MergesDatagrams means that the path may carry several datagrams in one packet, so
	// that a header for each of them is not expected.
	MergesDatagrams bool
	// RewritesHeads means that proxies on the path read messages of HTTP and write them anew: with
	// other header fields, perhaps in another version of HTTP, and several in one packet.
	RewritesHeads bool
	// Forwarded is the name of a counter, for Rules, of requests that servers received with
	// X-Forwarded-For. The servers' reports have it, and Snapshot does not. Empty if the path has none.
	Forwarded string
	// IgnoredDropReasons are kernel drop reasons of packets that a process of the mode has
	// already copied; such packets are not lost.
	IgnoredDropReasons []string
	// Facts describe the mode beyond the facts of the machine, such as engine versions.
	Facts []result.Fact
	// Warnings are about the mode as it is set up.
	Warnings []result.Warning
	// Emulated names the part of the path that runs on an emulated CPU, and why; empty if
	// none does.
	Emulated string
	// Sizes are those of packets that the check of the path found to pass.
	Sizes PacketSizes
	// Underlay is the link between the hosts if its rate and MTU are known, else nil.
	Underlay *Underlay
	// Processes returns the ids of local processes whose descendants all belong to the
	// mode, such as those of an engine or a tunnel. Endpoints and containers are not
	// included. It may be nil.
	Processes func() []int
	// Snapshot reads every counter of Rules.
	Snapshot func(ctx context.Context) (Counters, error)
	// Topology returns the path as a graph, with the settings read back from each device.
	Topology func() (result.Topology, error)
	// FlushConnections removes state of ended connections, such as connection tracking
	// entries, so that every trial starts under the same conditions as the first.
	FlushConnections func(ctx context.Context) error
	// Foreign returns how many connections and datagrams of others arrived at the ports of the
	// path's own checks since the last call. It may be nil.
	Foreign func() int64
	// Probe probes with the agents of the first pair, before its first trial and in at most 2 s, which packets pass between its
	// endpoints and whether data arrives unchanged. What it could not probe is a fact. It may be nil.
	Probe func(ctx context.Context, client, server *agent.Client) ([]result.Fact, []result.Warning)
	// Lost returns why the path can carry no further trial and must be recreated, such as a
	// connection to a host that was cut, or a proxy that has ended; nil if it can. It may be nil: the path is never lost.
	Lost func() error
	// Events can happen while the path carries traffic.
	Events []Event
	// Close removes the path and everything created for it. It may be called again. The
	// agents must have exited.
	Close func(ctx context.Context) error
	// Internal is the driver's own value for its tests. It may be nil.
	Internal any
}

// CardCountersLate is how late the counters of a network card may be: some drivers copy them
// from hardware once a second (bnxt, tg3, mlx4), and two such periods may be needed.
const CardCountersLate = 2500 * time.Millisecond

// Underlay is the link between two hosts.
type Underlay struct {
	Rate uint64 // bit/s each way, 0 for no limit
	MTU  int    // bytes
}

// Prove compares two snapshots with what each pair carried between them, in the order of
// Pairs. Pairs beyond len(carried) were idle; counters of such a pair must not have
// changed. The error names the counter that does not fit, which makes the mode void, or is
// ErrTooLittleTraffic if too little was carried to decide.
func (p *Path) Prove(before, after Counters, carried []Carried) error {
	before, after = p.withForwarded(before, after, carried)
	err := Verify(p.Rules, before, after, p.expected(carried))
	for i := 0; err == nil && i < len(p.Checks); i++ {
		err = p.Checks[i]()
	}
	if err != nil {
		return fmt.Errorf("the path of %s is not proven: %w", p.Mode, err)
	}
	return nil
}

// Findings returns, rule by rule, what Prove compares.
func (p *Path) Findings(before, after Counters, carried []Carried) []result.Finding {
	before, after = p.withForwarded(before, after, carried)
	return Findings(p.Rules, before, after, p.expected(carried))
}

// withForwarded returns two snapshots with the path's counter of forwarded requests.
func (p *Path) withForwarded(before, after Counters, carried []Carried) (Counters, Counters) {
	if p.Forwarded == "" {
		return before, after
	}
	before, after = maps.Clone(before), maps.Clone(after)
	before[p.Forwarded], after[p.Forwarded] = 0, 0
	if len(carried) > 0 && carried[0].FanIn != nil {
		carried = []Carried{*carried[0].FanIn}
	}
	for _, c := range carried {
		after[p.Forwarded] += c.Reverse.Forwarded
	}
	return before, after
}

// expected returns what the path's counters can show. Where datagrams are merged, later
// devices see one header for many datagrams, so only the payload of datagrams is expected. Where heads
// are rewritten, only what is left of the messages is.
func (p *Path) expected(carried []Carried) []Carried {
	if !p.MergesDatagrams && !p.RewritesHeads {
		return carried
	}
	out := make([]Carried, len(carried))
	for i, c := range carried {
		if c.FanIn != nil {
			c.FanIn = &p.expected([]Carried{*c.FanIn})[0]
		}
		for _, f := range []*Flow{&c.Forward, &c.Reverse} {
			if p.MergesDatagrams && f.Datagrams {
				f.Messages = 0
			}
			if p.RewritesHeads {
				f.Payload, f.Messages = f.Content, 0
			}
		}
		out[i] = c
	}
	return out
}
