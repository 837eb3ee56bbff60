package guest

import (
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
	"tare/internal/observe/netstack"
	"tare/internal/result"
)

// start is a process to start. Stream has its stdio.
type start struct {
	Stream  uint16   `json:"stream"`
	Program string   `json:"program"` // a path in the guest
	Args    []string `json:"args"`    // with the program's name
	Env     []string `json:"env"`
	Merged  bool     `json:"merged"` // stderr goes where stdout does; else its end is kept for the fate
}

// ended is how a process did.
type ended struct {
	Stream     uint16 `json:"stream"`
	Code       int    `json:"code"` // of its exit; -1 after a signal
	ExitReason string `json:"fate"`
}

// op is what a request asks for.
type op string

const (
	opNet          op = "net"
	opStart        op = "start"
	opKill         op = "kill"
	opLinks        op = "links"
	opDescribe     op = "describe"
	opRead         op = "read"
	opSurvey       op = "survey"
	opTracked      op = "tracked"
	opCounts       op = "counts"
	opFlushTracked op = "forget"
)

// request is a line to the guest. NS is the name of a Box, empty for the guest's own
// network.
type request struct {
	ID     uint64   `json:"id"`
	Op     op       `json:"op"`
	NS     string   `json:"ns,omitempty"`
	Net    *Net     `json:"net,omitempty"`
	Start  *start   `json:"start,omitempty"`
	Stream uint16   `json:"stream,omitempty"`
	Names  []string `json:"names,omitempty"`
	Table  string   `json:"table,omitempty"`
}

// reply is a line from the guest: the answer to a request, or news.
type reply struct {
	ID    uint64 `json:"id,omitempty"`
	Error string `json:"error,omitempty"`
	Hello *Hello `json:"hello,omitempty"`
	Ended *ended `json:"ended,omitempty"`

	Links   map[string]pathspec.Link  `json:"links,omitempty"`
	Kind    string                    `json:"kind,omitempty"`
	Facts   []result.Fact             `json:"facts,omitempty"`
	Reading *netstack.Reading         `json:"reading,omitempty"`
	Stack   *driver.Settings          `json:"stack,omitempty"`
	Tracked *driver.ConnTrack         `json:"tracked,omitempty"`
	Counts  map[string]linuxnet.Count `json:"counts,omitempty"`
}
