// Package guest boots virtual machines as sandboxes: QEMU with a distribution's kernel
// and a first file system that holds nothing but this very program, which is the guest's
// first process, and its agents.
//
// The machine and that first process talk over one serial port, QEMU's stdin and
// stdout: it is told what network to make and what to start, and it hands on the stdio
// of what it has started. When the port comes to its end it powers the machine off.
package guest

import (
	"errors"
	"net/netip"
	"time"
)

// InitCommand is the hidden subcommand of a guest's first process.
const InitCommand = "guest-init"

// Version is the protocol's. Both sides are one binary.
const Version = 1

// Port is the name of the serial port.
const Port = "agent"

// Program is where this program is in the guest.
const Program = "/tare"

// DeviceName is the guest's network device.
const DeviceName = "eth0"

// UnavailableError says what this machine would need to have for guests.
type UnavailableError struct{ Reason string }

func (l *UnavailableError) Error() string { return l.Reason }

// AsUnavailable finds a Lacking error in err.
func AsUnavailable(err error) (*UnavailableError, bool) {
	var l *UnavailableError
	ok := errors.As(err, &l)
	return l, ok
}

// Net is how a guest's network is to be.
type Net struct {
	Settings  [][2]string    `json:"settings"`  // sysctls of every namespace; those the kernel has not got are passed over
	Offload   bool           `json:"offload"`   // segmentation offloads and GRO of every device
	MTU       int            `json:"mtu"`       // of every device, 0 for the kernel's choice
	Addresses []netip.Prefix `json:"addresses"` // of Eth. Where the guest has no IPv6, those of it are passed over
	Gateways  []netip.Addr   `json:"gateways"`
	Published *Published     `json:"published,omitempty"`
}

// Published are sandboxes behind a bridge of the guest, each at a port that the guest
// publishes.
type Published struct {
	Table           string         `json:"table"` // of nftables
	Bridge          string         `json:"bridge"`
	BridgeAddresses []netip.Prefix `json:"own"` // addresses of the bridge, which are the sandboxes' way out
	Sandboxes       []Sandbox      `json:"boxes"`
}

// Sandbox is one of the sandboxes. Its device is Eth, the bridge's port is as told.
type Sandbox struct {
	Name      string         `json:"name"`
	Port      string         `json:"port"`
	Addresses []netip.Prefix `json:"addresses"`
	Publish   uint16         `json:"publish"`
}

// Hello is what a guest says of itself when it is up.
type Hello struct {
	Guest  int    `json:"tare_guest"` // Version
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	IPv6   bool   `json:"ipv6"`
}

// BootTimeout bounds a guest's boot, without the time for which others had the CPU.
const BootTimeout = time.Minute

// Model is a network adapter.
type Model struct {
	Name   string // for people
	Device string // as QEMU calls it
	Module string // the kernel's driver of it
}

// Models are the adapters there are.
func Models() []Model {
	return []Model{
		{"virtio", "virtio-net-pci", "virtio_net"},
		{"vmxnet3", "vmxnet3", "vmxnet3"},
		{"e1000", "e1000", "e1000"},
		{"e1000e", "e1000e", "e1000e"},
	}
}
