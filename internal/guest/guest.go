// Package guest boots virtual machines as sandboxes: QEMU with a distribution's kernel and an
// initramfs that contains only this program, which is the guest's first process and its agents.
//
// The host and that first process communicate over one serial port, which is QEMU's stdin and
// stdout. The first process sets up networks and starts processes on request, and forwards their
// stdio. When the port is closed, it powers the guest off.
package guest

import (
	"errors"
	"net/netip"
	"time"
)

// InitCommand is the hidden subcommand of a guest's first process.
const InitCommand = "guest-init"

// Version is the version of the protocol. Both sides are the same binary.
const Version = 1

// Port is the name of the serial port.
const Port = "agent"

// Program is the path of this program in the guest.
const Program = "/tare"

// agentProgram is the path of the agent's program in the guest.
const agentProgram = "/tare-agent"

// DeviceName is the name of the guest's network device.
const DeviceName = "eth0"

// UnavailableError says what this machine lacks for running guests.
type UnavailableError struct{ Reason string }

func (l *UnavailableError) Error() string { return l.Reason }

// AsUnavailable finds an UnavailableError in err.
func AsUnavailable(err error) (*UnavailableError, bool) {
	var l *UnavailableError
	ok := errors.As(err, &l)
	return l, ok
}

// Net describes the network set-up of a guest.
type Net struct {
	Settings  [][2]string    `json:"settings"`  // sysctls of every namespace; those that the kernel does not have are skipped
	Offload   bool           `json:"offload"`   // segmentation offloads and GRO of every device
	MTU       int            `json:"mtu"`       // of every device, 0 for the kernel's default
	Addresses []netip.Prefix `json:"addresses"` // of the guest's device. IPv6 addresses are skipped if the guest has no IPv6
	Gateways  []netip.Addr   `json:"gateways"`
	Published *Published     `json:"published,omitempty"`
}

// Published describes sandboxes behind a bridge of the guest, each on a port that the guest
// publishes.
type Published struct {
	Table           string         `json:"table"` // name of the nftables table
	Bridge          string         `json:"bridge"`
	BridgeAddresses []netip.Prefix `json:"own"` // addresses of the bridge, which are the sandboxes' gateways
	Sandboxes       []Sandbox      `json:"boxes"`
}

// Sandbox is one of the sandboxes. Its device is named DeviceName; Port is the bridge port.
type Sandbox struct {
	Name      string         `json:"name"`
	Port      string         `json:"port"`
	Addresses []netip.Prefix `json:"addresses"`
	Publish   uint16         `json:"publish"`
}

// Hello is what a guest reports after its boot.
type Hello struct {
	Guest  int    `json:"tare_guest"` // Version
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	IPv6   bool   `json:"ipv6"`
}

// BootTimeout bounds a guest's boot, not counting the time it waited for a CPU.
const BootTimeout = time.Minute

// Model is a network adapter.
type Model struct {
	Name   string // for people
	Device string // QEMU's name of it
	Module string // the kernel's driver for it
}

// Models returns the supported adapters.
func Models() []Model {
	return []Model{
		{"virtio", "virtio-net-pci", "virtio_net"},
		{"vmxnet3", "vmxnet3", "vmxnet3"},
		{"e1000", "e1000", "e1000"},
		{"e1000e", "e1000e", "e1000e"},
	}
}
