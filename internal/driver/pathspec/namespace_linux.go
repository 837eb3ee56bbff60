package pathspec

import (
	"context"
	"fmt"

	"tare/internal/driver"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// NamespaceStack is a network namespace of this machine as a Stack.
type NamespaceStack struct{ NS *linuxnet.NS }

// InStack calls fn on a thread inside the namespace.
func (s NamespaceStack) InStack(fn func() error) error { return s.NS.Do(fn) }

// Links reads the counters of devices.
func (s NamespaceStack) Links(_ context.Context, names []string) (map[string]Link, error) {
	out := map[string]Link{}
	carrier, err := s.NS.Links().CarrierChanges()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		st, err := s.NS.Links().Stats(name)
		if err != nil {
			return nil, err
		}
		l := Link{TxBytes: st.TxBytes, RxBytes: st.RxBytes}
		if n, ok := carrier[name]; ok {
			l.CarrierChanges = &n
		}
		out[name] = l
	}
	return out, nil
}

// Describe reads type, MTU, queueing discipline, addresses and offloads.
func (s NamespaceStack) Describe(_ context.Context, name string) (kind string, facts []result.Fact, err error) {
	kind, pairs, err := s.NS.Links().Describe(name)
	for _, f := range pairs {
		facts = append(facts, result.Fact{Name: f[0], Value: f[1]})
	}
	return kind, facts, err
}

// DevicesOnly is a network namespace of this machine as a Stack whose own sockets, routes and rules
// have no part in the path, because a process reads and writes the frames of its devices.
type DevicesOnly struct{ NS *linuxnet.NS }

// Links reads the counters of devices.
func (s DevicesOnly) Links(ctx context.Context, names []string) (map[string]Link, error) {
	return NamespaceStack(s).Links(ctx, names)
}

// Describe reads type, MTU, queueing discipline and offloads.
func (s DevicesOnly) Describe(ctx context.Context, name string) (kind string, facts []result.Fact, err error) {
	return NamespaceStack(s).Describe(ctx, name)
}

// ReadIngress adds the counters of the packets that a namespace receives on a device, which a table of
// packet rules there counts.
func (p *Path) ReadIngress(at Place, ns *linuxnet.NS, table, device string) {
	p.AddReader(func(_ context.Context, into driver.Counters) error {
		counts, err := ns.Rules().IngressCounts(table)
		for name, n := range counts {
			into[CounterName(at.At, device, name+"_bytes")] = n.Bytes
		}
		return err
	})
}

// ReadRunTime reads the CPU time of processes, together, before
// and after each trial, in ns. what names them in errors.
func (p *Path) ReadRunTime(counter, what string, pids ...int) {
	p.AddReader(func(_ context.Context, into driver.Counters) error {
		var sum uint64
		for _, pid := range pids {
			n, err := linuxnet.CPUTime(pid)
			if err != nil {
				return fmt.Errorf("read the CPU time of %s: %w", what, err)
			}
			sum += n
		}
		into[counter] = sum
		return nil
	})
}
