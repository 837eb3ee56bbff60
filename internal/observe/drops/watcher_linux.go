package drops

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// Bounds: flows of one session, and ends of all of them, for which drops.bpf.c has room.
// Its counts have room for 16 pairs of a reason and a function of each flow; a kernel on
// a bad day shows a dozen.
const (
	maxFlows = 256
	maxPorts = 4 * maxFlows
)

// tunnelPorts returns the UDP ports on which datagrams are looked for inside VXLAN:
// that of RFC 7348, and the one which Linux takes where it is told none.
func tunnelPorts() []uint16 { return []uint16{4789, 8472} }

// Watcher has the program in the kernel. The program is hooked up only while a
// session is under way. Neither it nor its sessions may be used from several goroutines at once.
type Watcher struct {
	procRoot string
	reasons  map[uint32]string // their names
	objects  *dropsObjects     // in the kernel
	symbols  map[uint64]string // "" for those without
	session  *Session
}

// New loads the program and hooks it up once for a moment, so that whatever keeps it
// from working is known at the beginning of a run. procRoot is where procfs is
// mounted, for the names of functions. What this machine lacks is an
// *UnavailableError.
func New(procRoot string) (*Watcher, error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, &UnavailableError{"drop reasons require kernel type information (CONFIG_DEBUG_INFO_BTF, /sys/kernel/btf/vmlinux)", err}
	}
	reasons, err := reasonNames(kernel)
	if err != nil {
		return nil, &UnavailableError{"drop reasons cannot be read on this kernel", err}
	}
	objects := &dropsObjects{}
	if err := loadDropsObjects(objects, &ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{KernelTypes: kernel}}); err != nil {
		return nil, explainLoadError(err)
	}
	w := &Watcher{procRoot: procRoot, reasons: reasons, objects: objects, symbols: map[uint64]string{}}
	s, err := w.Start(0)
	if err == nil {
		err = s.Stop()
	}
	if err != nil {
		return nil, errors.Join(explainLoadError(err), w.Close())
	}
	return w, nil
}

// explainLoadError is what it means that the kernel did not take the program.
func explainLoadError(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &UnavailableError{"drop reasons require root, or CAP_BPF and CAP_PERFMON, on the machine itself", err}
	}
	return &UnavailableError{"this kernel rejects the eBPF program that reads drop reasons", err}
}

// Start begins to count, for so many flows whose ports Set tells. A session must be
// stopped before the next one starts.
func (w *Watcher) Start(flows int) (*Session, error) {
	if w.session != nil {
		return nil, errors.New("count drops: the previous session has not been stopped")
	}
	if flows > maxFlows {
		return nil, fmt.Errorf("count drops: %d flows, more than %d", flows, maxFlows)
	}
	s := &Session{watcher: w, flows: make([]Flow, flows)}
	if err := w.clear(); err != nil {
		return nil, err
	}
	if err := s.writeMaps(); err != nil {
		return nil, err
	}
	stats, err := w.objects.TareDrops.Stats()
	if err != nil {
		return nil, fmt.Errorf("count drops: %w", err)
	}
	s.missed = stats.RecursionMisses
	if s.hook, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: tracepoint, Program: w.objects.TareDrops}); err != nil {
		return nil, fmt.Errorf("attach to the tracepoint skb:%s: %w", tracepoint, err)
	}
	w.session = s
	return s, nil
}

// clear empties all maps.
func (w *Watcher) clear() error {
	if err := errors.Join(w.objects.Turn.Set(dropsOwnerShared), w.objects.Lost.Set(uint64(0))); err != nil {
		return fmt.Errorf("count drops: %w", err)
	}
	return errors.Join(clearMap[uint32, dropsOwner](w.objects.TarePorts), clearMap[dropsEnd, dropsOwner](w.objects.TareEnds), clearMap[dropsKey, uint64](w.objects.TareCounts))
}

// clearMap forgets all that is in a map.
func clearMap[K, V any](m *ebpf.Map) error {
	var keys []K
	var k K
	var v V
	all := m.Iterate()
	for all.Next(&k, &v) {
		keys = append(keys, k)
	}
	if err := all.Err(); err != nil {
		return fmt.Errorf("count drops: read a map: %w", err)
	}
	for _, k := range keys {
		if err := m.Delete(k); err != nil {
			return fmt.Errorf("count drops: empty a map: %w", err)
		}
	}
	return nil
}

// Close takes the program out of the kernel. It may be called again.
func (w *Watcher) Close() error {
	var errs []error
	if w.session != nil {
		errs = append(errs, w.session.Stop())
	}
	return errors.Join(append(errs, w.objects.Close())...)
}
