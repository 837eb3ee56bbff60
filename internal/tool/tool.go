// Package tool runs external generators, such as iperf3, as workloads: in the same sandboxes, in
// the same trials, with the same path proof. It starts the tool's process and reads its output, and
// reports only values that the tool can have measured.
package tool

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// Tool is one external generator.
type Tool struct {
	Name  string
	Kinds []string // workloads that it supports
	// Directions are the directions that it supports.
	Directions []string

	executable string
	install    string // how to install it
	probe      func(banner, help string) (build, error)
	probeFlags probeFlags
	writesFile bool // besides what it prints
	command    func(j job) ([]string, error)
	read       func(j job, out output) (parsed, error)

	// A tool that only asks is the client of the built-in workload's server, which answers nobody without the
	// trial's tag and counts what it answered. probes is how many connections it opens without a request.
	asks   bool
	probes int
}

// parsed is what was read from the output of an endpoint.
type parsed interface {
	report(j job) (traffic.Report, error)
	// lost is how many datagrams are missing by the tool's own count, nil if it has none.
	lost() *int64
}

// probeFlags are the options for a tool's version and help.
type probeFlags struct{ version, help string }

// side is which endpoint of a trial a tool is.
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

// job is one endpoint of one trial, for one installed tool.
type job struct {
	traffic.Params
	side          side
	host          string // to dial, or to listen on; "" is every address
	port          uint16
	ipv6          bool
	build         build
	grantedBuffer int         // the buffer that the kernel grants of the requested one, 0 if none was requested
	file          *outputFile // into which the tool writes, if it does
}

// sends reports whether this endpoint sends payload.
func (j job) sends() bool { return j.Both() || j.Reverse() == (j.side == atServer) }

// receives reports whether this endpoint receives payload.
func (j job) receives() bool { return j.Both() || !j.sends() }

func (j job) udp() bool { return j.Kind == udpStream }

const (
	tcpStream = "tcp_stream"
	udpStream = "udp_stream"
	http1Kind = "http"
	http2Kind = "http2"
)

// All returns all tools.
func All() []Tool { return []Tool{iperf3(), iperf2(), ntttcp(), wrk(), h2load()} }

// Named finds a tool by its name.
func Named(name string) (Tool, error) {
	all := All()
	i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		var names []string
		for _, t := range all {
			names = append(names, t.Name)
		}
		return Tool{}, fmt.Errorf("unknown tool %q; use one of %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// ForWorkload lists the tools that support a workload.
func ForWorkload(kind string) []string {
	var names []string
	for _, t := range All() {
		if slices.Contains(t.Kinds, kind) {
			names = append(names, t.Name)
		}
	}
	return names
}

// For returns the workload of a trial: that of the tool in p, or the built-in one.
func For(p traffic.Params) (traffic.Workload, error) {
	if p.Tool == "" || p.Tool == study.BuiltIn {
		return workloads.Named(p.Kind)
	}
	t, err := Named(p.Tool)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(t.Kinds, p.Kind) {
		return nil, fmt.Errorf("%s does not support %s, only %v", t.Name, p.Kind, t.Kinds)
	}
	return workload{tool: t, kind: p.Kind}, nil
}
