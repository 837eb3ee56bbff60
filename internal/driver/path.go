package driver

import (
	"context"
	"fmt"

	"tare/internal/result"
)

// Path is a mode that is set up: the pairs of endpoints, the devices between them, and
// what proves that traffic took them. It is data and a few functions, so that whoever
// changes one part of it keeps all the others. Functions that may be nil say so.
type Path struct {
	Mode string
	// Hosts are the machines that the path has endpoints or devices on, the first
	// client's first, each once.
	Hosts []Host
	// Pairs are the endpoints, as many pairs as were ordered. A trial may leave the last
	// of them idle.
	Pairs []Pair
	// Stacks are the network stacks that the path leads through, each once: those of the
	// endpoints, whose names are in Endpoint.Stack, and those between them. Of a path
	// without any nobody can tell where its datagrams were dropped.
	Stacks []NetworkStack
	// Rules are what the path's counters must show, and Checks what else must hold
	// after a trial for the path to be proven.
	Rules  []Rule
	Checks []func() error
	// MergesDatagrams says that the path may carry several datagrams as one packet, so
	// that no header of each is expected on it.
	MergesDatagrams bool
	// IgnoredDropReasons names the reasons, as the kernel calls them, by which it drops packets of
	// which a process of the mode has taken copies: they are not lost.
	IgnoredDropReasons []string
	// Facts are what the mode is made of beyond the machine, such as the versions of an
	// engine.
	Facts []result.Fact
	// Emulated names the part of the path that runs on an emulated CPU, and the reason;
	// empty where a real CPU runs all of it.
	Emulated string
	// Underlay is the link between the hosts where its rate and MTU are known; nil
	// where nothing is known of it.
	Underlay *Underlay
	// Processes are the ids of processes on this machine below which everything belongs
	// to the mode, beside its endpoints, but for what runs in containers: those of an
	// engine or of a tunnel. May be nil.
	Processes func() []int
	// Snapshot reads every counter of Rules.
	Snapshot func(ctx context.Context) (Counters, error)
	// Topology is the path as a graph, with what was read back of each device.
	Topology func() (result.Topology, error)
	// FlushConnections drops what the path remembers of connections that have ended, as
	// connection tracking does, so that each trial starts as the first did.
	FlushConnections func(ctx context.Context) error
	// Close takes the path and what was made for it down. It may be called again. The
	// agents must have ended.
	Close func(ctx context.Context) error
	// Internal is what the driver keeps of the path, for its own tests. May be nil.
	Internal any
}

// Underlay is the link between two hosts.
type Underlay struct {
	Rate uint64 // bit/s each way, 0 for no limit
	MTU  int    // bytes
}

// Prove compares two snapshots with what each pair carried between them, in the order
// of Pairs. Pairs beyond that were idle, and what is theirs alone must not have moved.
// The error names the counter that does not fit: the mode is then void. It is
// ErrTooLittleTraffic where too little was carried to tell.
func (p *Path) Prove(before, after Counters, carried []Carried) error {
	err := Verify(p.Rules, before, after, p.expected(carried))
	for i := 0; err == nil && i < len(p.Checks); i++ {
		err = p.Checks[i]()
	}
	if err != nil {
		return fmt.Errorf("the path of %s is not proven: %w", p.Mode, err)
	}
	return nil
}

// Findings are what Prove compares with what was carried, rule by rule.
func (p *Path) Findings(before, after Counters, carried []Carried) []result.Finding {
	return Findings(p.Rules, before, after, p.expected(carried))
}

// expected is what was carried, as the path's counters can show it. Where datagrams are
// put together, devices behind that see one header for many: of datagrams the payload
// is expected, whole.
func (p *Path) expected(carried []Carried) []Carried {
	if !p.MergesDatagrams {
		return carried
	}
	out := make([]Carried, len(carried))
	for i, c := range carried {
		for _, f := range []*Flow{&c.Forward, &c.Reverse} {
			if f.Datagrams {
				f.Messages = 0
			}
		}
		out[i] = c
	}
	return out
}
