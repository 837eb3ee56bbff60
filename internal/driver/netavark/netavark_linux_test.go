package netavark_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/netavark"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
)

func TestMain(m *testing.M) {
	drivertest.UsePrograms("netavark")
	drivertest.MainOf(m, netavark.Driver{})
}

func need(t *testing.T) {
	t.Helper()
	drivertest.NeedProgram(t, testneed.Netavark, "netavark")
}

func TestConformance(t *testing.T) {
	need(t)
	drivertest.Conformance(t, netavark.Driver{}, 2)
}

// Each keeps the traffic flowing past what netavark's rules translate, which must be void.
func TestShortcutsAreVoid(t *testing.T) {
	need(t)
	for _, tt := range []struct {
		name, mode string
		open       func(*testing.T, *drivertest.Setup) error
		want       string
		cannot     func(study.Workload, traffic.Spec, map[string]string) string
	}{
		{"a route to the sandbox", "netavark/published", routed, "b/dnat:5201.packets", nil},
		{"another port of netavark's", "netavark/published", otherPort, "b/dnat:5201.packets", nil},
		{"another rule before netavark's", "netavark/published", otherRule, "b/dnat:5201.packets", nil},
		{"a process that forwards", "netavark/published", relayed, "b/dnat:5201.packets", driver.TCPOnly("the process forwards connections")},
		{"no masquerade, routed back", "netavark/bridge", unmasqueraded, "a/masquerade.packets", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			drivertest.Detour{Name: tt.name, Open: func(s *drivertest.Setup) error { return tt.open(t, s) }, Want: tt.want}.IsVoid(t, netavark.Driver{}, driver.Mode{ID: tt.mode, Cannot: tt.cannot})
		})
	}
}

// ends returns the server, the address that it has in its sandbox, and host b.
func ends(s *drivertest.Setup) (server *driver.Endpoint, own netip.AddrPort, b *linuxnet.NS) {
	server = &s.Path.Pairs[0].Server
	return server, server.Listen[0], s.Lab.B.NS
}

// routed dials the sandbox's own address, over a route.
func routed(_ *testing.T, s *drivertest.Setup) error {
	server, own, _ := ends(s)
	server.Dial[0] = own
	return s.Lab.A.NS.Routes().Route(netip.PrefixFrom(own.Addr(), 32), s.Lab.B.Addr[0], "")
}

// otherPort dials a port of the host that netavark's table translates, too.
func otherPort(_ *testing.T, s *drivertest.Setup) error {
	server, own, b := ends(s)
	server.Dial[0] = netip.AddrPortFrom(server.Dial[0].Addr(), 6201)
	return errors.Join(
		nft(b, "add rule inet netavark NETAVARK-HOSTPORT-DNAT tcp dport 6201 dnat ip to "+own.String()),
		nft(b, "add rule inet netavark NETAVARK-HOSTPORT-DNAT udp dport 6201 dnat ip to "+own.String()))
}

// otherRule translates the published port by a rule that is not netavark's.
func otherRule(_ *testing.T, s *drivertest.Setup) error {
	_, own, b := ends(s)
	return errors.Join(
		nft(b, "add table ip other"), nft(b, "add chain ip other before { type nat hook prerouting priority -110; }"),
		nft(b, "add rule ip other before tcp dport 5201 dnat to "+own.String()), nft(b, "add rule ip other before udp dport 5201 dnat to "+own.String()))
}

// relayed has a process of the host listen at the published port, as a userland proxy does.
func relayed(t *testing.T, s *drivertest.Setup) error {
	server, own, b := ends(s)
	return errors.Join(drivertest.RelayTCP(t, b, server.Dial[0], own), nft(b, "insert rule inet netavark PREROUTING accept"))
}

// unmasqueraded keeps the client's own address, and adds a route back.
func unmasqueraded(_ *testing.T, s *drivertest.Setup) error {
	return errors.Join(nft(s.Lab.A.NS, "insert rule inet netavark POSTROUTING accept"),
		s.Lab.B.NS.Routes().Route(s.Lab.Addresses(lab.NetA, 0)[0].Masked(), s.Lab.A.Addr[0], ""))
}

func nft(on *linuxnet.NS, command string) error {
	path, err := daemon.Find("nft")
	if err != nil {
		return err
	}
	cmd := exec.Command(path, command)
	var said strings.Builder
	cmd.Stderr = &said
	if err = on.Start(cmd); err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("nft %s: %w: %s", command, err, said.String())
	}
	return nil
}

// What cannot be used is said in one line, and nothing is left.
func TestBadPrograms(t *testing.T) {
	need(t)
	const version = "[ \"$1\" = --version ] && { echo netavark 2.1.0; exit; }\n"
	bad := func(script, want string, unsupported bool) drivertest.Refused {
		return drivertest.Refused{Mode: "netavark/bridge", Program: "netavark", Script: script, Want: want, Unsupported: unsupported}
	}
	drivertest.CheckRefused(t, netavark.Driver{}, map[string]drivertest.Refused{
		"another program":  bad("echo something else", "install netavark 1.10 or newer", true),
		"too old":          bad("echo netavark 1.4.0", "is netavark 1.4.0, which writes its rules with iptables only; install netavark 1.10 or newer", true),
		"fails":            bad(version+`echo '{"error":"no luck"}'; exit 1`, "connect the sandbox a/client: netavark of host a: netavark ended (exit status 1): no luck", false),
		"fails, too new":   bad(strings.Replace(version, "2.1.0", "3.0.0", 1)+"exit 1", "(exit status 1) (netavark 3.0.0 is newer than those that were tested, 1.17.2 and 2.1.0)", false),
		"is killed":        bad(version+"kill -9 $$", "netavark ended (signal: killed)", false),
		"connects nothing": bad(version+"exit 0", "find what netavark connected a/client with", false),
	})
}

// A killed run leaves namespaces only, which gc removes; netavark's files are in none of this machine's directories.
func TestKilledRun(t *testing.T) {
	need(t)
	drivertest.KilledRun(t, "netavark/bridge", nil)
	if left, err := filepath.Glob("/run/sysctl.d/*netavark*"); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// The counting table has the run's id in its name, and no counter but that of the port.
func TestCountingTable(t *testing.T) {
	need(t)
	s := drivertest.Provision(t, netavark.Driver{}, "netavark/published", nil)
	before := must.Get(s.Lab.B.NS.Rules().Counts(lab.Prefix + s.Lab.Spec.Claim.ID))(t)
	must.Get2(s.Trial(t, drivertest.Params("tcp_crr"), false))(t)
	after := must.Get(s.Lab.B.NS.Rules().Counts(lab.Prefix + s.Lab.Spec.Claim.ID))(t)
	at := linuxnet.CountDNATOf(5201)
	if moved := after[at].Packets - before[at].Packets; moved == 0 || len(after) != 1 {
		t.Errorf("%d connections counted in %v", moved, after)
	}
}
