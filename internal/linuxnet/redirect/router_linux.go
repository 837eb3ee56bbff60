package redirect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"

	"github.com/cilium/ebpf"

	"tare/internal/linuxnet"
)

// Sandbox is a sandbox that a router redirects packets from and to.
type Sandbox struct {
	Device string           // in the host; its peer is in the sandbox
	Host   net.HardwareAddr // of Device
	Inside net.HardwareAddr // of the peer
	Addrs  []netip.Addr
}

// Router redirects the packets of a host's sandboxes. It is not safe for concurrent use.
type Router struct {
	host     *linuxnet.NS
	underlay string
	objects  redirectObjects
	numbers  map[string]uint32 // entries in the map of counts, by device
	attached []io.Closer
	attach   attachFunc
	hooks    map[string]string // where the programs are attached, by device
}

// New loads the programs and redirects packets that arrive at the underlay device for
// sandboxes, of which there are none at first.
func New(host *linuxnet.NS, underlay string) (*Router, error) {
	return newRouter(host, underlay, attachIngress)
}

func newRouter(host *linuxnet.NS, underlay string, attach attachFunc) (*Router, error) {
	r := &Router{host: host, underlay: underlay, numbers: map[string]uint32{}, hooks: map[string]string{}, attach: attach}
	if err := loadRedirectObjects(&r.objects, nil); err != nil {
		return nil, explainLoadError(err)
	}
	if err := r.attachTo(underlay, r.objects.TareToSandbox); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// explainLoadError converts the error of loading the programs to an *UnavailableError.
func explainLoadError(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &UnavailableError{"redirecting packets by eBPF requires root, or CAP_BPF and CAP_NET_ADMIN, on the machine itself", err}
	}
	return &UnavailableError{"this kernel rejects the eBPF programs that redirect packets; Linux 5.10 or newer is required", err}
}

// AddVeth redirects the packets of a sandbox whose device is a veth. Its own packets are
// redirected when they arrive at the host's end of the veth.
func (r *Router) AddVeth(s Sandbox) error {
	if err := r.add(s); err != nil {
		return err
	}
	return r.attachTo(s.Device, r.objects.TareFromSandbox)
}

// AddNetkit redirects the packets of a sandbox whose device is a netkit pair with its
// primary device in the host. Its own packets are redirected when the sandbox sends them.
func (r *Router) AddNetkit(s Sandbox) error {
	if err := r.add(s); err != nil {
		return err
	}
	at, err := attachNetkitPeer(r.host, s.Device, r.objects.TareFromSandbox)
	if err != nil {
		return err
	}
	r.attached, r.hooks[s.Device] = append(r.attached, at), "netkit peer"
	return nil
}

// add enters a sandbox in the map of sandboxes.
func (r *Router) add(s Sandbox) error {
	device, err := r.host.Links().Index(s.Device)
	if err != nil {
		return err
	}
	underlay, err := r.host.Links().Index(r.underlay)
	if err != nil {
		return err
	}
	number := uint32(len(r.numbers))
	if most := r.objects.TareCounts.MaxEntries(); number >= most {
		return fmt.Errorf("redirect the packets of %s: %d sandboxes are the most", s.Device, most)
	}
	r.numbers[s.Device] = number
	value := redirectSandbox{Number: number, Device: uint32(device), Underlay: uint32(underlay), Inside: words(s.Inside), Host: words(s.Host)}
	for _, a := range s.Addrs {
		if err := r.objects.TareSandboxes.Put(a.As16(), value); err != nil {
			return fmt.Errorf("redirect the packets of %s: add %s to the map of sandboxes: %w", s.Device, a, err)
		}
	}
	return nil
}

// words returns a MAC address as the programs store it.
func words(mac net.HardwareAddr) (out [3]uint16) {
	for i := range out {
		if 2*i+1 < len(mac) { // a device without Ethernet addresses has an empty one
			out[i] = binary.NativeEndian.Uint16(mac[2*i:])
		}
	}
	return out
}

// Counts returns what was redirected for the sandbox of a device.
func (r *Router) Counts(device string) (sum Counts, err error) {
	number, ok := r.numbers[device]
	if !ok {
		return sum, fmt.Errorf("read what was redirected for %s: it was not added", device)
	}
	var each []redirectCounts
	if err := r.objects.TareCounts.Lookup(number, &each); err != nil {
		return sum, fmt.Errorf("read what was redirected for %s: %w", device, err)
	}
	for _, n := range each {
		sum.Out.Packets += n.Out.Packets
		sum.Out.Bytes += n.Out.Bytes
		sum.In.Packets += n.In.Packets
		sum.In.Bytes += n.In.Bytes
	}
	return sum, nil
}

// Hook names the kernel's interface by which a program is attached to a device of the host:
// tcx, clsact on kernels before 6.6, or netkit peer. It is empty if none is.
func (r *Router) Hook(device string) string { return r.hooks[device] }

// Detach detaches the programs, which leaves all packets to the host's IP stack. Counts can
// still be read.
func (r *Router) Detach() error {
	var errs []error
	for _, at := range r.attached {
		errs = append(errs, at.Close())
	}
	r.attached = nil
	return errors.Join(errs...)
}

// Close detaches and unloads the programs. It may be called again.
func (r *Router) Close() error { return errors.Join(r.Detach(), r.objects.Close()) }

// attachTo attaches a program to what a device of the host receives.
func (r *Router) attachTo(device string, program *ebpf.Program) error {
	at, hook, err := r.attach(r.host, device, program)
	if err != nil {
		return err
	}
	r.attached, r.hooks[device] = append(r.attached, at), hook
	return nil
}
