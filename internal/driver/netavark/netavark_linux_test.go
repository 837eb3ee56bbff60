package netavark_test

import (
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/netavark"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/bridgedtest"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
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

func TestShortcutsAreVoid(t *testing.T) {
	need(t)
	bridgedtest.Check(t, netavark.Driver{}, "netavark/published", "netavark/bridge",
		bridgedtest.Chains{Published: []string{"inet netavark PREROUTING"}, Masquerade: "inet netavark POSTROUTING"})
	drivertest.Detour{Name: "another port of netavark's", Open: otherPort, Want: "b/dnat:5201.packets"}.IsVoid(t, netavark.Driver{}, driver.Mode{ID: "netavark/published"})
}

// otherPort dials a port of the host that netavark's table translates, too.
func otherPort(s *drivertest.Setup) error {
	server, own, b := bridgedtest.Ends(s)
	server.Dial[0] = netip.AddrPortFrom(server.Dial[0].Addr(), 6201)
	return errors.Join(
		bridgedtest.NFT(b, "add rule inet netavark NETAVARK-HOSTPORT-DNAT tcp dport 6201 dnat ip to "+own.String()),
		bridgedtest.NFT(b, "add rule inet netavark NETAVARK-HOSTPORT-DNAT udp dport 6201 dnat ip to "+own.String()))
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
		"connects nothing": bad(version+"exit 0", "find what a/client is connected with", false),
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
