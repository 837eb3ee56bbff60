// Package redirect routes packets between the sandboxes of a host and its underlay device
// by two small eBPF programs, past bridges, the packet filter and the IP stack of the host.
// Cilium calls this eBPF host routing. The programs count what they redirect.
//
// It requires Linux 5.10 or newer, and root of the machine itself or the capabilities
// CAP_BPF and CAP_NET_ADMIN. If something is missing, the error is an *UnavailableError.
package redirect

import "fmt"

// Count is what a program has redirected. Packets and bytes are counted as the device saw
// them, Ethernet headers included: with segmentation offload one packet may stand for many.
type Count struct{ Packets, Bytes uint64 }

// Counts are those of a sandbox, of both address families and all CPUs together.
type Counts struct {
	Out Count // from the sandbox to the underlay
	In  Count // from the underlay to the sandbox
}

// UnavailableError says why packets cannot be redirected here, and how to fix it.
type UnavailableError struct {
	Reason string
	Err    error // the kernel's error
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("%s: %v", e.Reason, e.Err) }

func (e *UnavailableError) Unwrap() error { return e.Err }
