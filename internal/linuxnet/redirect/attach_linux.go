package redirect

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"tare/internal/linuxnet"
)

// attachFunc attaches a program to what a device of a namespace receives, until the closer
// is closed. hook names the kernel's interface for it.
type attachFunc func(ns *linuxnet.NS, device string, program *ebpf.Program) (at io.Closer, hook string, err error)

// attachIngress attaches to tcx, or to clsact if the kernel has no tcx.
func attachIngress(ns *linuxnet.NS, device string, program *ebpf.Program) (io.Closer, string, error) {
	at, err := attachTCX(ns, device, program)
	if errors.Is(err, ebpf.ErrNotSupported) {
		return attachClsact(ns, device, program)
	}
	if err != nil {
		return nil, "", fmt.Errorf("attach the eBPF program to %s in namespace %s: %w", device, ns.Name(), err)
	}
	return at, "tcx", nil
}

func attachTCX(ns *linuxnet.NS, device string, program *ebpf.Program) (io.Closer, error) {
	return attachLink(ns, device, func(index int) (link.Link, error) {
		return link.AttachTCX(link.TCXOptions{Interface: index, Program: program, Attach: ebpf.AttachTCXIngress})
	})
}

func attachClsact(ns *linuxnet.NS, device string, program *ebpf.Program) (io.Closer, string, error) {
	if err := ns.Rules().AttachIngress(device, program.FD()); err != nil {
		return nil, "", &UnavailableError{"redirecting packets by eBPF requires tcx (Linux 6.6) or clsact (CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_BPF)", err}
	}
	return closerFunc(func() error { return ns.Rules().DetachIngress(device) }), "clsact", nil
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

// attachNetkitPeer attaches a program to what the sandbox sends over a netkit pair whose
// primary device is in the namespace.
func attachNetkitPeer(ns *linuxnet.NS, device string, program *ebpf.Program) (io.Closer, error) {
	at, err := attachLink(ns, device, func(index int) (link.Link, error) {
		return link.AttachNetkit(link.NetkitOptions{Interface: index, Program: program, Attach: ebpf.AttachNetkitPeer})
	})
	if err != nil {
		return nil, fmt.Errorf("attach the eBPF program to the peer of netkit device %s in namespace %s: %w", device, ns.Name(), err)
	}
	return at, nil
}

// attachLink calls attach with the index of a device, in the device's namespace: the kernel
// looks it up in that of the calling thread.
func attachLink(ns *linuxnet.NS, device string, attach func(index int) (link.Link, error)) (io.Closer, error) {
	index, err := ns.Links().Index(device)
	if err != nil {
		return nil, err
	}
	var at link.Link
	err = ns.Do(func() (err error) {
		at, err = attach(index)
		return err
	})
	return at, err
}
