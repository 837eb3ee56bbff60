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
	written table // currently in the kernel's maps
	hook    link.Link
	missed  uint64 // the program's count of missed packets at the start
}

// Set replaces the endpoints of a flow and makes it the active one. Counts are kept. Two
// flows may share an endpoint if they are active at different times.
func (s *Session) Set(flow int, f Flow) error {
	if flow < 0 || flow >= len(s.flows) {
		return fmt.Errorf("count drops: flow %d of %d", flow, len(s.flows))
	}
	s.flows[flow] = f
	if err := s.writeMaps(); err != nil {
		return err
	}
	return s.Turn(flow)
}

// writeMaps writes the ports and endpoints of the flows to the kernel's maps.
func (s *Session) writeMaps() error {
	t, err := tableOf(s.flows)
	if err != nil {
		return err
	}
	before := s.written
	s.written = t
	if err := replace(s.watcher.objects.TarePorts, before.ports, t.ports); err != nil {
		return err
	}
	return replace(s.watcher.objects.TareEnds, before.ends, t.ends)
}

// replace changes the content of a kernel map from before to after.
func replace[K comparable](in *ebpf.Map, before, after map[K]dropsOwner) error {
	for k := range before {
		if _, still := after[k]; still {
			continue
		}
		if err := in.Delete(k); err != nil {
			return fmt.Errorf("count drops: remove a port: %w", err)
		}
	}
	for k, v := range after {
		if old, there := before[k]; there && old == v {
			continue
		}
		if err := in.Put(k, v); err != nil {
			return fmt.Errorf("count drops: add a port: %w", err)
		}
	}
	return nil
}

// Turn makes a flow the active one: packets of ports that several flows share count for it.
func (s *Session) Turn(flow int) error {
	if flow < 0 || flow >= len(s.flows) {
		return fmt.Errorf("count drops: cannot activate flow %d of %d", flow, len(s.flows))
	}
	if err := s.watcher.objects.Turn.Set(flowValue(flow)); err != nil {
		return fmt.Errorf("count drops: activate a flow: %w", err)
	}
	return nil
}

// Read returns what the session has counted for a flow so far.
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
	return FlowDrops{Reasons: w.aggregate(counts), Missing: missing}, err
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
		return fmt.Sprintf("drop reasons: %d dropped datagrams were not counted because the table of reasons is full", lost), nil
	case missed > 0:
		return fmt.Sprintf("drop reasons: up to %d dropped packets (of any traffic) were missed while another was counted", missed), nil
	}
	return "", nil
}

// Stop ends the session. Counts that have not been read are lost.
func (s *Session) Stop() error {
	w := s.watcher
	if w.session != s {
		return errors.New("count drops: the session has been stopped")
	}
	w.session = nil
	if err := s.hook.Close(); err != nil {
		return fmt.Errorf("detach from the tracepoint skb:%s: %w", tracepoint, err)
	}
	return nil
}
