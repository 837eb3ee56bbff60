// Package tool drives external generators, such as iperf3, as workloads: inside
// the same sandboxes, on the same trials, held to the same path proof. It starts
// the tool's process, reads what it printed, and never shows a figure that the
// tool cannot have measured.
package tool

import (
	"fmt"
	"slices"

	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// Tool is one external generator.
type Tool struct {
	Name  string
	Kinds []string // workloads that it can make
	// Directions are the values of direction that it knows.
	Directions []string

	executable string
	install    string // what to do where it is missing
	probe      func(banner, help string) (build, error)
	probeFlags probeFlags
	command    func(j job) ([]string, error)
	read       func(j job, out output) (parsedOutput, error)
}

// probeFlags is how a tool tells its version and options.
type probeFlags struct{ version, help string }

// side is which end of a trial a tool is.
type side bool

const (
	atClient side = false
	atServer side = true
)

func (s side) String() string {
	if s == atServer {
		return "server"
	}
	return "client"
}

// job is one end of one trial, for one tool as it is installed here.
type job struct {
	traffic.Params
	side          side
	host          string // to dial, or to listen on; "" is every address
	port          uint16
	ipv6          bool
	build         build
	grantedBuffer int    // what the kernel grants of the buffer that was asked for, 0 where none was
	folder        string // for files that the tool writes
}

// sends reports whether this end sends payload.
func (j job) sends() bool { return j.Both || j.Reverse == (j.side == atServer) }

// receives reports whether this end receives payload.
func (j job) receives() bool { return j.Both || !j.sends() }

func (j job) udp() bool { return j.Kind == udpStream }

const (
	tcpStream = "tcp_stream"
	udpStream = "udp_stream"
)

// All is the registry of tools.
func All() []Tool { return []Tool{iperf3(), iperf2(), ntttcp()} }

// Named finds a tool.
func Named(name string) (Tool, error) {
	all := All()
	i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, fmt.Errorf("unknown tool %q: there are iperf3, iperf2 and ntttcp", name)
	}
	return all[i], nil
}

// ForWorkload lists the tools that can make a workload.
func ForWorkload(kind string) []string {
	var names []string
	for _, t := range All() {
		if slices.Contains(t.Kinds, kind) {
			names = append(names, t.Name)
		}
	}
	return names
}

// For finds the workload of a trial: the tool's that p names, or the built-in one.
func For(p traffic.Params) (traffic.Workload, error) {
	if p.Tool == "" || p.Tool == study.BuiltIn {
		return workloads.For(p)
	}
	t, err := Named(p.Tool)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(t.Kinds, p.Kind) {
		return nil, fmt.Errorf("%s cannot make %s: it makes %v", t.Name, p.Kind, t.Kinds)
	}
	return workload{tool: t, kind: p.Kind}, nil
}
