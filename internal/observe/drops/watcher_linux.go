package drops

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// Limits of drops.bpf.c: flows in one session, and endpoints of all of them. Its counts
// have space for 16 combinations of reason and function for each flow; in practice a kernel
// shows at most a dozen.
const (
	maxFlows = 256
	maxPorts = 4 * maxFlows
)

// tunnelPorts returns the UDP ports on which datagrams inside VXLAN are recognised: that of
// RFC 7348 and the default of Linux.
func tunnelPorts() []uint16 { return []uint16{4789, 8472} }

// Watcher holds the eBPF program in the kernel. The program is attached only during a
// session. Neither a Watcher nor its sessions are safe for concurrent use.
type Watcher struct {
	procRoot string
	reasons  map[uint32]string // names by number
	objects  *dropsObjects     // loaded objects
	symbols  map[uint64]string // "" if it has no name
	session  *Session
}

// New loads the program and attaches it briefly, so that problems are reported at the
// beginning of a run. procRoot is where procfs is mounted, for the names of functions. If
// this machine lacks something, the error is an *UnavailableError.
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

// explainLoadError converts the error of loading the program to an *UnavailableError.
func explainLoadError(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &UnavailableError{"drop reasons require root, or CAP_BPF and CAP_PERFMON, on the machine itself", err}
	}
	return &UnavailableError{"this kernel rejects the eBPF program that reads drop reasons", err}
}

// Start begins to count for a number of flows whose endpoints are set with Set. A session
// must be stopped before the next one starts.
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

// clearMap deletes all entries of a map.
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

// Close unloads the program. It may be called again.
func (w *Watcher) Close() error {
	var errs []error
	if w.session != nil {
		errs = append(errs, w.session.Stop())
	}
	return errors.Join(append(errs, w.objects.Close())...)
}
