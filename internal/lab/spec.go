package lab

import (
	"net/netip"

	"tare/internal/linuxnet"
	"tare/internal/runid"
)

// Prefix begins the name of everything a run makes, followed by the run's id.
const Prefix = runid.Prefix

// Spec says what lab to make.
type Spec struct {
	Claim   Claim
	Label   string // tells the labs of one run apart, usually the mode
	MTU     int    // of the underlay, bytes
	Rate    uint64 // bit/s each way, 0 for no limit
	Offload bool   // segmentation offloads and GRO of every device
	Pin     bool   // name the namespaces under /run/netns; needs the real root
}

// Lab is two hosts and their underlay.
type Lab struct {
	Spec   Spec
	A, B   *Host
	IPv6   bool // whether this kernel has it
	spaces []*linuxnet.NS
}

// Host is one machine of a lab.
type Host struct {
	Name     string // a or b
	NS       *linuxnet.NS
	Underlay string       // its device on the underlay
	Addr     []netip.Addr // on the underlay: IPv4, then IPv6 where there is one
}

// DefaultMTU is the underlay's unless the study says otherwise.
const DefaultMTU = 1500

// Underlay is the name of both hosts' device on the underlay.
const Underlay = "eth0"
