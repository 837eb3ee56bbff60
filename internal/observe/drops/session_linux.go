package drops

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Session counts between Start and Stop.
type Session struct {
	watcher *Watcher
	flows   []Flow
	told    table // in the kernel now
	hook    link.Link
	missed  uint64 // of the program, before
}

// Set gives a flow its ends, in place of those that it had, and the turn. What has
// been counted stays. Two flows may have an end in common if they take turns.
func (s *Session) Set(flow int, f Flow) error {
	if flow < 0 || flow >= len(s.flows) {
		return fmt.Errorf("count drops: flow %d of %d", flow, len(s.flows))
	}
	s.flows[flow] = f
	if err := s.tell(); err != nil {
		return err
	}
	return s.Turn(flow)
}

// tell makes the kernel's ports and ends those of the flows.
func (s *Session) tell() error {
	t, err := tableOf(s.flows)
	if err != nil {
		return err
	}
	before := s.told
	s.told = t
	if err := replace(s.watcher.objects.TarePorts, before.ports, t.ports); err != nil {
		return err
	}
	return replace(s.watcher.objects.TareEnds, before.ends, t.ends)
}

// replace makes a map of the kernel that holds one thing hold another.
func replace[K comparable](in *ebpf.Map, before, after map[K]dropsOwner) error {
	for k := range before {
		if _, still := after[k]; still {
			continue
		}
		if err := in.Delete(k); err != nil {
			return fmt.Errorf("count drops: forget a port: %w", err)
		}
	}
	for k, v := range after {
		if old, there := before[k]; there && old == v {
			continue
		}
		if err := in.Put(k, v); err != nil {
			return fmt.Errorf("count drops: note a port: %w", err)
		}
	}
	return nil
}

// Turn says that what has a port of several flows is the given one's from now on.
func (s *Session) Turn(flow int) error {
	if flow < 0 || flow >= len(s.flows) {
		return fmt.Errorf("count drops: flow %d of %d takes its turn", flow, len(s.flows))
	}
	if err := s.watcher.objects.Turn.Set(flowValue(flow)); err != nil {
		return fmt.Errorf("count drops: take turns: %w", err)
	}
	return nil
}

// Read gives what the session has counted of a flow so far.
func (s *Session) Read(flow int) (FlowDrops, error) {
	w := s.watcher
	if w.session != s {
		return FlowDrops{}, errors.New("count drops: the session has been stopped")
	}
	counts := map[dropsKey]uint64{}
	var k dropsKey
	var n uint64
	all := w.objects.TareCounts.Iterate()
	for all.Next(&k, &n) {
		if k.Flow == flowValue(flow) {
			counts[k] = n
		}
	}
	if err := all.Err(); err != nil {
		return FlowDrops{}, fmt.Errorf("count drops: read the counts: %w", err)
	}
	if err := w.locate(slices.Collect(maps.Keys(counts))); err != nil {
		return FlowDrops{}, err
	}
	missing, err := s.missing()
	return FlowDrops{Reasons: w.sorted(counts), Missing: missing}, err
}

// missing says by how much the counts may be too low.
func (s *Session) missing() (string, error) {
	var lost uint64
	if err := s.watcher.objects.Lost.Get(&lost); err != nil {
		return "", fmt.Errorf("count drops: %w", err)
	}
	stats, err := s.watcher.objects.TareDrops.Stats()
	if err != nil {
		return "", fmt.Errorf("count drops: %w", err)
	}
	switch missed := stats.RecursionMisses - s.missed; {
	case lost > 0:
		return fmt.Sprintf("drop reasons: %d datagrams were dropped for more reasons than there is room for", lost), nil
	case missed > 0:
		return fmt.Sprintf("drop reasons: up to %d dropped packets, of anybody's, came while another was counted", missed), nil
	}
	return "", nil
}

// Stop ends the session. What was not read by then is gone.
func (s *Session) Stop() error {
	w := s.watcher
	if w.session != s {
		return errors.New("count drops: the session has been stopped")
	}
	w.session = nil
	if err := s.hook.Close(); err != nil {
		return fmt.Errorf("let go of the tracepoint skb:%s: %w", tracepoint, err)
	}
	return nil
}
