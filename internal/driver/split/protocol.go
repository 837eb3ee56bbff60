package split

import (
	"net/netip"
	"time"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/observe/netstack"
	"tare/internal/result"
)

// Command is the hidden subcommand that builds one half of a mode: tare split --run ID --at
// a. It reads requests on stdin and replies on stdout, one JSON object per line, as an agent
// does. It ends, and removes what it has built, when its stdin ends.
const Command = "split"

// EnterCommand is the hidden subcommand that becomes another one in the network namespace
// of a half: tare enter --run ID PID FD agent ...
const EnterCommand = "enter"

// version is the version of the protocol. Both sides are the same binary or one of the same
// build, so any difference is refused.
const version = 1

// hello is the first line of a half.
type hello struct {
	Version int    `json:"tare_split"`
	Build   string `json:"build"`
	PID     int    `json:"pid"`
}

// op is the operation that a request asks for.
type op string

// The operations. Those below opClose need a mode that is built.
const (
	opLink  op = "link"  // find the device that leads to Request.To
	opBuild op = "build" // build Request.Order; a reply with Meet comes before the final one for each meeting
	opGo    op = "go"    // the other half has come to the meeting
	opClose op = "close" // remove the mode

	opSnapshot op = "snapshot"
	opTopology op = "topology"
	opFlush    op = "flush"
	opCheck    op = "check"
	opRead     op = "read"    // the counters of the stack Request.Stack
	opSurvey   op = "survey"  // its settings
	opTracked  op = "tracked" // the size of its connection tracking
)

// request is a line to a half.
type request struct {
	ID    uint64     `json:"id"`
	Op    op         `json:"op"`
	To    netip.Addr `json:"to,omitzero"`
	Order *order     `json:"order,omitempty"`
	Stack string     `json:"stack,omitempty"`
}

// reply is a line from a half.
type reply struct {
	ID    uint64 `json:"id"`
	Error string `json:"error,omitempty"`
	// Unsupported is why the mode cannot be built on this machine.
	Unsupported string `json:"unsupported,omitempty"`
	SlotTaken   bool   `json:"slot_taken,omitempty"` // by another process, meanwhile
	Meet        bool   `json:"meet,omitempty"`

	Link     *link             `json:"link,omitempty"`
	Built    *built            `json:"built,omitempty"`
	Counters driver.Counters   `json:"counters,omitempty"`
	Topology *result.Topology  `json:"topology,omitempty"`
	Reading  *netstack.Reading `json:"reading,omitempty"`
	Settings *driver.Settings  `json:"settings,omitempty"`
	Tracked  *driver.ConnTrack `json:"tracked,omitempty"`
}

// link is how a machine reaches the other.
type link struct {
	Device  string     `json:"device"`
	Kind    string     `json:"kind"`
	MTU     int        `json:"mtu"`
	MAC     string     `json:"mac,omitempty"`
	Gateway netip.Addr `json:"gateway,omitzero"`
	Local   bool       `json:"local,omitempty"`
	IPv6    bool       `json:"ipv6"`  // the kernel supports it
	Slots   []int      `json:"slots"` // free address slots
}

// The kinds of what a half builds.
const (
	buildMode  = "mode"  // its half of the mode
	buildHosts = "hosts" // its half of a lab without a mode, to test the link
	buildAlone = "alone" // the whole mode, in a lab on this machine
)

// order is what to build. Both halves of a mode get the same except Side and Parent.
type order struct {
	Kind  string            `json:"kind"`
	Mode  string            `json:"mode"`
	Name  string            `json:"name"`
	Label string            `json:"label"`
	Pairs int               `json:"pairs"`
	MTU   int               `json:"mtu,omitempty"` // inside the mode's tunnel
	With  map[string]string `json:"with,omitempty"`

	Slot    int    `json:"slot"`
	LinkMTU int    `json:"link_mtu"`
	Side    string `json:"side"`
	Parent  string `json:"parent,omitempty"`
	Seed    []byte `json:"seed,omitempty"`
	IPv6    bool   `json:"ipv6"`
}

// built describes a mode that is set up: the data of its driver.Path. The names in it are
// those of the lab's hosts.
type built struct {
	Pairs     []pair           `json:"pairs"`
	Stacks    []stack          `json:"stacks"`
	Late      time.Duration    `json:"late,omitempty"` // as driver.Path.CountersLate
	Rules     []driver.Rule    `json:"rules"`
	Merges    bool             `json:"merges"`
	Ignored   []string         `json:"ignored"`
	Facts     []result.Fact    `json:"facts"`
	Emulated  string           `json:"emulated"`
	Underlay  *driver.Underlay `json:"underlay"`
	Processes []int            `json:"processes"`
}

type pair struct {
	Client endpoint `json:"client"`
	Server endpoint `json:"server"`
}

// endpoint is a driver.Endpoint whose network namespace is a file descriptor of the half.
type endpoint struct {
	Name   string           `json:"name"`
	Host   string           `json:"host"`
	Stack  string           `json:"stack"`
	FD     int              `json:"fd"`
	Listen []netip.AddrPort `json:"listen"`
	Dial   []netip.AddrPort `json:"dial"`
}

// stack is a driver.NetworkStack, with which of its functions it has.
type stack struct {
	Name    string `json:"name"`
	Shared  bool   `json:"shared"`
	Reads   bool   `json:"reads"`
	Surveys bool   `json:"surveys"`
	Tracks  bool   `json:"tracks"`
}

// sides are the lab's hosts, the client's first.
func sides() [2]string { return [2]string{lab.SideA, lab.SideB} }

// machineStack is the name, below its host, of the network stack of the machine itself.
const machineStack = "machine"
