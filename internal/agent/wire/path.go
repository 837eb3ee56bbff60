package wire

import "time"

// The operations that probe the path between two agents. None is for the time of a trial.
const (
	OpPathListen Op = "path_listen" // listen for a path probe; the reply comes when the port is open
	OpPathResult Op = "path_result" // stop listening; the reply comes when the port is closed and has Path and Refused
	OpPathSend   Op = "path_send"   // send a path probe; the reply has Path with its results
)

// PathProbe is one probe of the path from the agent that sends to the one that listens.
// Over UDP it searches the largest packet that arrives when no router may fragment it. Over
// TCP it sends data with full-size segments that the receiver compares.
type PathProbe struct {
	Network string `json:"network"`         // udp or tcp
	Address string `json:"address"`         // to listen on or to dial
	Token   string `json:"token"`           // the same at both agents
	MTU     int    `json:"mtu,omitempty"`   // of the sender's device, 0 for that of its route; over UDP
	Loss    bool   `json:"loss,omitempty"`  // lost packets are counted; over UDP
	Bytes   int64  `json:"bytes,omitempty"` // to send at most; over TCP
	// Time bounds for how long data is sent. Stall is how long a probe may make no progress.
	Time  time.Duration `json:"time,omitempty"`
	Stall time.Duration `json:"stall,omitempty"`

	Sizes  *PathSizes  `json:"sizes,omitempty"`  // the result over UDP
	Stream *PathStream `json:"stream,omitempty"` // the result over TCP
}

// PathSizes are the sizes of IP packets, in bytes, that arrived when no router might
// fragment them.
type PathSizes struct {
	MTU     int `json:"mtu,omitempty"`     // the largest that was tried
	Largest int `json:"largest"`           // the largest that arrived unchanged; 0 is none
	Lost    int `json:"lost,omitempty"`    // the smallest that did not arrive and that the sender's device takes; 0 is none
	Changed int `json:"changed,omitempty"` // the smallest that arrived with other content; 0 is none
	// Reported means that a router told the sender that packets are too big, with the largest
	// size that it passes on, 0 if it gave none. ReportsUnseen is why reports cannot be seen.
	Reported      bool   `json:"reported,omitempty"`
	ReportedMTU   int    `json:"reported_mtu,omitempty"`
	ReportsUnseen string `json:"reports_unseen,omitempty"`
	// Refused means that the sender's system refused a packet larger than the MTU of its
	// device; nil if the probe did not come that far.
	Refused *bool `json:"refused,omitempty"`
	// Unanswered are how many of Probed packets each had no answer, whichever way was lost: of a small size and of
	// Largest. Probed is 0 if the probe did not come that far.
	Probed     int    `json:"probed,omitempty"`
	Unanswered [2]int `json:"unanswered,omitzero"`
}

// PathStream is what became of a TCP stream.
type PathStream struct {
	Sent     int64  `json:"sent"`
	Received int64  `json:"received"`         // confirmed by the receiver
	Complete bool   `json:"complete"`         // all that was sent arrived
	BadAt    *int64 `json:"bad_at,omitempty"` // offset of the first byte that differs
	MSS      int    `json:"mss,omitempty"`    // of the sender at the end, bytes; 0 is unknown
	Failure  string `json:"failure,omitempty"`
}
