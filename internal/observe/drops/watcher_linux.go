package drops

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"tare/internal/result"
)

// Bounds of the maps: flows of one session, ports of all of them, and pairs of a
// reason and a function for each flow, of which a kernel on a bad day shows a dozen.
const (
	maxFlows  = 256
	maxPorts  = 4 * maxFlows
	maxCounts = 4096
)

// license is that of the program which the kernel is given, because reading the
// kernel's memory is only for programs under its own licence. It is of program_linux.go
// as it stands there, and of nothing else.
const license = "Dual MIT/GPL"

// tunnelPorts returns the UDP ports on which datagrams are looked for inside VXLAN:
// that of RFC 7348, and the one which Linux takes where it is told none.
func tunnelPorts() []uint16 { return []uint16{4789, 8472} }

// Watcher has the program in the kernel. The program is hooked up only while a
// session is under way. Neither it nor its sessions may be used from several goroutines at once.
type Watcher struct {
	procRoot string
	layout   layout
	ports    *ebpf.Map
	state    *ebpf.Map
	counts   *ebpf.Map
	program  *ebpf.Program
	symbols  map[uint64]string // "" for those without
	session  *Session
}

// Session counts between Start and Stop.
type Session struct {
	watcher *Watcher
	flows   int
	hook    link.Link
	missed  uint64 // of the program, before
}

// New loads the program and hooks it up once for a moment, so that whatever keeps it
// from working is known at the beginning of a run. procRoot is where procfs is
// mounted, for the names of functions. What this machine lacks is an
// *UnavailableError.
func New(procRoot string) (*Watcher, error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, &UnavailableError{"drop reasons need the kernel's types (CONFIG_DEBUG_INFO_BTF, /sys/kernel/btf/vmlinux)", err}
	}
	l, err := readLayout(kernel)
	if err != nil {
		return nil, &UnavailableError{"drop reasons cannot be read on this kernel", err}
	}
	w := &Watcher{procRoot: procRoot, layout: l, symbols: map[uint64]string{}}
	if err := w.load(); err != nil {
		return nil, errors.Join(refused(err), w.Close())
	}
	s, err := w.Start(nil)
	if err == nil {
		_, err = s.Stop()
	}
	if err != nil {
		return nil, errors.Join(refused(err), w.Close())
	}
	return w, nil
}

// refused is what it means that the kernel did not take the program.
func refused(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &UnavailableError{"drop reasons need root, or CAP_BPF and CAP_PERFMON, on the machine itself", err}
	}
	return &UnavailableError{"this kernel does not take the program that reads drop reasons", err}
}

func (w *Watcher) load() (err error) {
	for _, m := range []struct {
		to   **ebpf.Map
		spec ebpf.MapSpec
	}{
		{&w.ports, ebpf.MapSpec{Name: "tare_ports", Type: ebpf.Hash, KeySize: 4, ValueSize: 4, MaxEntries: maxPorts}},
		{&w.state, ebpf.MapSpec{Name: "tare_state", Type: ebpf.Array, KeySize: 4, ValueSize: slots * slotBytes, MaxEntries: 1}},
		{&w.counts, ebpf.MapSpec{Name: "tare_drops", Type: ebpf.Hash, KeySize: 16, ValueSize: 8, MaxEntries: maxCounts}},
	} {
		if *m.to, err = ebpf.NewMap(&m.spec); err != nil {
			return err
		}
	}
	w.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "tare_drops", Type: ebpf.RawTracepoint, License: license,
		Instructions: program(w.layout, fds{w.ports.FD(), w.state.FD(), w.counts.FD()}),
	})
	return err
}

// Start begins to count the drops of flows. A session must be stopped before the next
// one starts. Two flows may have a port in common if they take turns: see Turn.
func (w *Watcher) Start(flows []Flow) (*Session, error) {
	if w.session != nil {
		return nil, errors.New("count drops: the session before has not been stopped")
	}
	ports, err := portsOf(flows)
	if err != nil {
		return nil, err
	}
	s := &Session{watcher: w, flows: len(flows)}
	if err := w.clear(); err != nil {
		return nil, err
	}
	for port, value := range ports {
		if err := w.ports.Put(port, value); err != nil {
			return nil, fmt.Errorf("count drops: note a port: %w", err)
		}
	}
	stats, err := w.program.Stats()
	if err != nil {
		return nil, fmt.Errorf("count drops: %w", err)
	}
	s.missed = stats.RecursionMisses
	if s.hook, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: tracepoint, Program: w.program}); err != nil {
		return nil, fmt.Errorf("hook up to the tracepoint skb:%s: %w", tracepoint, err)
	}
	w.session = s
	return s, nil
}

// portsOf is what each port stands for.
func portsOf(flows []Flow) (map[uint32]uint32, error) {
	out := map[uint32]uint32{}
	for _, port := range tunnelPorts() {
		out[portKey(protoUDP, port)] = portTunnel
	}
	for n, f := range flows {
		value, err := flowValue(n)
		if err != nil {
			return nil, fmt.Errorf("count drops: %w", err)
		}
		proto := uint16(protoUDP)
		if f.TCP {
			proto = protoTCP
		}
		for _, port := range f.Ports {
			k := portKey(proto, port)
			if before, ok := out[k]; ok && before != portTunnel && before != value {
				out[k] = portShared
			} else {
				out[k] = value
			}
		}
	}
	if len(out) > maxPorts {
		return nil, fmt.Errorf("count drops: %d ports, more than %d", len(out), maxPorts)
	}
	return out, nil
}

// clear empties all maps.
func (w *Watcher) clear() error {
	if err := w.state.Put(uint32(0), [slots]uint64{}); err != nil {
		return fmt.Errorf("count drops: %w", err)
	}
	var port, value uint32
	ports, err := keysOf(w.ports, port, value)
	if err != nil {
		return err
	}
	var k key
	var n uint64
	counts, err := keysOf(w.counts, k, n)
	if err != nil {
		return err
	}
	for _, p := range ports {
		if err := w.ports.Delete(p); err != nil {
			return fmt.Errorf("count drops: forget a port: %w", err)
		}
	}
	for _, c := range counts {
		if err := w.counts.Delete(c); err != nil {
			return fmt.Errorf("count drops: forget a count: %w", err)
		}
	}
	return nil
}

// keysOf are all keys of a map.
func keysOf[K, V any](m *ebpf.Map, k K, v V) ([]K, error) {
	var out []K
	all := m.Iterate()
	for all.Next(&k, &v) {
		out = append(out, k)
	}
	if err := all.Err(); err != nil {
		return nil, fmt.Errorf("count drops: read a map: %w", err)
	}
	return out, nil
}

// Turn says that what has a port of several flows is the given one's from now on.
func (s *Session) Turn(flow int) error {
	value, err := flowValue(flow)
	if err == nil {
		err = s.watcher.state.Put(uint32(0), [slots]uint64{slotTurn: uint64(value)})
	}
	if err != nil {
		return fmt.Errorf("count drops: take turns: %w", err)
	}
	return nil
}

// Stop ends the session and gives what it counted.
func (s *Session) Stop() (Found, error) {
	w := s.watcher
	if w.session != s {
		return Found{}, errors.New("count drops: the session has been stopped")
	}
	w.session = nil
	if err := s.hook.Close(); err != nil {
		return Found{}, fmt.Errorf("let go of the tracepoint skb:%s: %w", tracepoint, err)
	}
	counts := map[key]uint64{}
	var k key
	var n uint64
	all := w.counts.Iterate()
	for all.Next(&k, &n) {
		counts[k] = n
	}
	if err := all.Err(); err != nil {
		return Found{}, fmt.Errorf("count drops: read the counts: %w", err)
	}
	if err := w.locate(slices.Collect(maps.Keys(counts))); err != nil {
		return Found{}, err
	}
	found := Found{Flows: w.sorted(counts, s.flows)}
	var err error
	found.Missing, err = s.missing()
	return found, err
}

// missing says by how much the counts may be too low.
func (s *Session) missing() (string, error) {
	var state [slots]uint64
	if err := s.watcher.state.Lookup(uint32(0), &state); err != nil {
		return "", fmt.Errorf("count drops: %w", err)
	}
	stats, err := s.watcher.program.Stats()
	if err != nil {
		return "", fmt.Errorf("count drops: %w", err)
	}
	switch missed := stats.RecursionMisses - s.missed; {
	case state[slotLost] > 0:
		return fmt.Sprintf("%d datagrams were dropped for more reasons than there was room for", state[slotLost]), nil
	case missed > 0:
		return fmt.Sprintf("up to %d dropped packets came while another was counted", missed), nil
	}
	return "", nil
}

// sorted gives the counts by flow, in the kernel's and its functions' names.
func (w *Watcher) sorted(counts map[key]uint64, flows int) [][]result.DropReason {
	out := make([][]result.DropReason, flows)
	sums := map[struct {
		flow             int
		reason, location string
	}]uint64{}
	for k, n := range counts {
		flow, reason, location := int(k.Flow)-portFlow, reasonName(w.layout.reasons, k.Reason), w.symbols[k.Location]
		if flow < 0 || flow >= flows || harmless(reason, location) {
			continue
		}
		sums[struct {
			flow             int
			reason, location string
		}{flow, reason, location}] += n
	}
	for k, n := range sums {
		out[k.flow] = append(out[k.flow], result.DropReason{Reason: k.reason, Location: k.location, Count: int64(n)}) //nolint:gosec // packets
	}
	for _, f := range out {
		slices.SortFunc(f, func(a, b result.DropReason) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Location, b.Location))
		})
	}
	return out
}

// locate finds the names of functions that have not been met before.
func (w *Watcher) locate(keys []key) error {
	var unknown []uint64
	for _, k := range keys {
		if _, ok := w.symbols[k.Location]; !ok {
			unknown = append(unknown, k.Location)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	// Without the names the reasons still stand.
	names := map[uint64]string{}
	if f, err := os.Open(filepath.Join(w.procRoot, "kallsyms")); err == nil {
		defer f.Close()
		if names, err = symbolise(f, unknown); err != nil {
			return fmt.Errorf("read the names of the kernel's functions: %w", err)
		}
	}
	for _, a := range unknown {
		w.symbols[a] = names[a]
	}
	return nil
}

// Close takes the program out of the kernel. It may be called again.
func (w *Watcher) Close() error {
	var errs []error
	if w.session != nil {
		_, err := w.session.Stop()
		errs = append(errs, err)
	}
	if w.program != nil {
		errs = append(errs, w.program.Close())
	}
	for _, m := range []*ebpf.Map{w.ports, w.state, w.counts} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	return errors.Join(errs...)
}
