package lab

import (
	"net/netip"

	"tare/internal/linuxnet"
	"tare/internal/runid"
)

// Prefix begins the name of everything that a run creates; the run's id follows.
const Prefix = runid.Prefix

// Spec describes a lab to create.
type Spec struct {
	Claim   Claim
	Label   string // distinguishes the labs of one run, usually by mode
	MTU     int    // of the underlay, bytes
	Rate    uint64 // bit/s each way, 0 for no limit
	Offload bool   // segmentation offloads and GRO of every device
	Pin     bool   // name the namespaces under /run/netns; requires real root
	// Link is set for a lab that two machines build together: one of its hosts is real here.
	// Nil is a lab on this machine alone.
	Link *Link
}

// Lab is two hosts and their underlay.
type Lab struct {
	Spec   Spec
	A, B   *Host
	IPv6   bool // whether this kernel supports it
	spaces []*linuxnet.NS
	names  map[*linuxnet.NS]string // of the namespaces within the lab
	// attached is set while a split lab has a device on the machine's network card.
	attached bool
}

// Host is one machine of a lab.
type Host struct {
	Name     string // a or b
	NS       *linuxnet.NS
	Underlay string       // its underlay device
	Addr     []netip.Addr // on the underlay: IPv4, then IPv6 if supported
	// Phantom marks the host of a split lab that is real on the other machine. Here it is
	// built too, so that everything has its counterpart, but its underlay leads nowhere.
	Phantom bool
}

// DefaultMTU is the underlay's MTU unless the study sets one.
const DefaultMTU = 1500

// Underlay is the name of the underlay device on both hosts.
const Underlay = "eth0"
