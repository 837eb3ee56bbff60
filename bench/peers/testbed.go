package peers

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"tare/bench/harness"
	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/facts"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// testbed is the testbed in which generators are compared: two namespaces joined by a
// veth, and nothing else. Traffic goes from a to b.
type testbed struct {
	claim lab.Claim
	lab   *lab.Lab
	tare  string // the binary under test, absolute path
	cpus  []int
	port  int // the last one used for a peer

	ratios *[]float64 // see harness.Options
}

// cpuPlacement is the CPUs of both endpoints.
type cpuPlacement struct {
	name           string
	client, server int
}

func newTestbed(b harness.Options) (*testbed, error) {
	tare, err := filepath.Abs(b.Tare)
	if err != nil {
		return nil, err
	}
	s := &testbed{tare: tare, port: 5200}
	if s.cpus, err = facts.CPUs("/"); err != nil {
		return nil, err
	}
	if s.claim, err = lab.Standalone(); err != nil {
		return nil, err
	}
	s.lab, err = lab.Up(lab.Spec{Claim: s.claim, Label: "peers", MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot()})
	if err != nil {
		s.claim.Release()
		return nil, err
	}
	for _, h := range []*lab.Host{s.lab.A, s.lab.B} {
		if err := even(h); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// even applies the settings that all generators share to a host. The congestion control
// is set on the route, because some peers have no option for it, an option costs a system
// call for each connection, and a namespace may not be allowed another default than the
// machine's. The larger port range prevents TIME_WAIT from limiting connection rates.
func even(h *lab.Host) error {
	subnet := netip.PrefixFrom(h.Addr[0], 24).Masked()
	cmd := exec.Command("ip", "route", "replace", subnet.String(), "dev", h.Underlay, "src", h.Addr[0].String(), "congctl", harness.Congestion) //nolint:noctx // ends at once
	var words strings.Builder
	cmd.Stderr = &words
	err := h.NS.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("set congestion control %s for the peers in host %s: %w: %s", harness.Congestion, h.Name, err, strings.TrimSpace(words.String()))
	}
	return h.NS.Sysctl("net/ipv4/ip_local_port_range", "1024 65535")
}

func (s *testbed) close() error {
	err := s.lab.Close()
	s.claim.Release()
	return err
}

// placements are both endpoints on one core, and on one each if there are two. The last
// CPU comes first, as in a run.
func (s *testbed) placements() []cpuPlacement {
	n := len(s.cpus)
	last := s.cpus[n-1]
	all := []cpuPlacement{{"one core", last, last}}
	if n > 1 {
		all = append(all, cpuPlacement{"two cores", s.cpus[n-2], last})
	}
	return all
}

// target is the address that clients dial.
func (s *testbed) target() string { return s.lab.B.Addr[0].String() }

// nextPort returns a new port for each run of a peer, so that sockets of the previous run
// do not interfere. Some peers also use the following port.
func (s *testbed) nextPort() int {
	if s.port += 2; s.port > 9000 {
		s.port = 5202
	}
	return s.port
}

// agents starts tare in both namespaces, the real binary.
func (s *testbed) agents(ctx context.Context) (client, server *agent.Client, err error) {
	start := func(h *lab.Host) (*agent.Client, error) {
		return agent.Start(ctx, transport.Local{Start: func(cmd *exec.Cmd) error {
			cmd.Path = s.tare
			return h.NS.Start(cmd)
		}}, s.claim.ID, "peers/"+h.Name)
	}
	if client, err = start(s.lab.A); err != nil {
		return nil, nil, err
	}
	if server, err = start(s.lab.B); err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return client, server, nil
}

// versions prints the versions of the peers of a section.
func versions(ctx context.Context, names ...string) error {
	commands := map[string][]string{
		"iperf3": {"iperf3", "--version"}, "iperf2": {"iperf", "-v"}, "nuttcp": {"nuttcp", "-V"},
		"sockperf": {"sockperf", "--version"}, "qperf": {"qperf", "--version"}, "gcc": {"gcc", "--version"}, "wrk": {"wrk", "-v"}, "h2load": {"h2load", "--version"},
	}
	number := regexp.MustCompile(`\d+\.\d+[0-9.]*`)
	var said []string
	for _, name := range names {
		line := commands[name]
		// Some exit with an error code after printing their version.
		out, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput()
		v := number.Find(out)
		if v == nil {
			return fmt.Errorf("read the version of %s: %w; scripts/setup-bench installs it", name, err)
		}
		said = append(said, name+" "+string(v))
	}
	fmt.Printf("Against %s.\n\n", strings.Join(said, ", "))
	return nil
}

// onTestbed prints a section's title and runs it on a new testbed.
func onTestbed(ctx context.Context, b harness.Options, title string, peers []string, run func(context.Context, *testbed) error) (err error) {
	harness.Title("%s", title)
	if err := versions(ctx, peers...); err != nil {
		return err
	}
	s, err := newTestbed(b)
	if err != nil {
		return err
	}
	s.ratios = b.PeerRatios
	defer func() { err = errors.Join(err, s.close()) }()
	if err := run(ctx, s); err != nil {
		return err
	}
	fmt.Println()
	return nil
}
