//go:build linux

package netns_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// withRules builds a mode with settings, for which a program that writes such rules is needed.
func withRules(t *testing.T, mode string, with map[string]string) *drivertest.Setup {
	t.Helper()
	o := drivertest.Order(t, mode, 1, nil)
	o.With = with
	program := map[string]string{"iptables-legacy": "iptables-legacy-restore", "iptables-nft": "iptables-nft-restore", "ipset": "iptables-restore"}[with["rules_kind"]]
	if _, err := exec.LookPath(program); program != "" && err != nil {
		testneed.Missing(t, testneed.Iptables, err)
	}
	return drivertest.Build(t, netns.Driver{}, o)
}

func fact(facts []result.Fact, name string) string {
	for _, f := range facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// The rules of every kind are read back, and the first packet of every connection passes
// them. Where it does not, the path is void.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		kind   string
		bypass func(*testing.T, *linuxnet.NS)
	}{
		{"iptables-legacy", withoutJump("iptables-legacy")},
		{"iptables-nft", withoutJump("iptables-nft")},
		{"ipset", withoutJump("iptables")},
		{"nft-chain", withoutDecoys},
		{"nft-map", withoutDecoys},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			s := withRules(t, "netns/published", map[string]string{"rules": "3000", "rules_kind": tt.kind})
			if got := fact(s.Path.Facts, "with rules"); got != "3000" {
				t.Errorf("the facts tell %q rules: %+v", got, s.Path.Facts)
			}
			if got := fact(s.Path.Facts, "with rules_kind"); !strings.HasPrefix(got, tt.kind) {
				t.Errorf("the facts tell the kind %q", got)
			}
			if got := fact(s.Path.Facts, "rules installed in"); got == "" {
				t.Error("the facts do not tell the time to install")
			}
			for _, kind := range []string{"tcp_crr", "tcp_rr", "udp_rr"} {
				if _, _, err := s.Trial(t, drivertest.Params(kind), false); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			}
			tt.bypass(t, s.Lab.B.NS)
			s.Void(t, drivertest.Params("tcp_crr"), "b/tare-rules.passed_packets")
		})
	}
}

// withoutJump removes the jump to the rules from iptables.
func withoutJump(program string) func(*testing.T, *linuxnet.NS) {
	return func(t *testing.T, ns *linuxnet.NS) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, "-w", "-t", "nat", "-F", "PREROUTING")
		cmd.Env = append(os.Environ(), "XTABLES_LOCKFILE="+filepath.Join(t.TempDir(), "lock")) // an ordinary user may not lock the machine's
		must.Do(t, ns.Start(cmd))
		must.Do(t, cmd.Wait())
	}
}

// withoutDecoys removes the rules from nftables.
func withoutDecoys(t *testing.T, ns *linuxnet.NS) {
	t.Helper()
	must.Do(t, ns.Decoys().DropDecoys())
}

// Rules without effect are read back, and every forwarded packet passes them.
func TestNoopRules(t *testing.T) {
	s := withRules(t, "netns/bridge", map[string]string{"noop_rules": "2000"})
	if got := fact(s.Path.Facts, "with noop_rules"); got != "2000" {
		t.Errorf("the facts tell %q rules: %+v", got, s.Path.Facts)
	}
	for _, kind := range []string{"tcp_stream", "tcp_rr", "udp_rr"} {
		if _, _, err := s.Trial(t, drivertest.Params(kind), false); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	withoutDecoys(t, s.Lab.B.NS)
	s.Void(t, drivertest.Params("tcp_rr"), "b/tare-rules.noop_in_bytes")
}

// IPv6 does not traverse the rules, which are for IPv4: the path is void instead of fast.
func TestRulesAreForIPv4(t *testing.T) {
	s := withRules(t, "netns/published", map[string]string{"rules": "10"})
	if !s.Lab.IPv6 {
		testneed.Missing(t, testneed.IPv6, "the lab has none")
	}
	if _, _, err := s.Trial(t, drivertest.Params("tcp_crr"), true); err == nil || !strings.Contains(err.Error(), "b/tare-rules.passed_packets") {
		t.Errorf("over IPv6: got %v, want the path to be void", err)
	}
}

// A mode whose programs are missing is unsupported, and says how to get them.
func TestRulesWithoutPrograms(t *testing.T) {
	err := netns.MissingPrograms(t.Context())
	if lacks, ok := driver.AsUnsupported(err); !ok || !strings.Contains(lacks.Reason, "iptables-absent-restore") || !strings.Contains(lacks.Reason, "install iptables") {
		t.Errorf("got %v, want it to be unsupported with what is missing", err)
	}
}

// Rules that translate addresses need connection tracking.
func TestRulesWithoutConntrack(t *testing.T) {
	o := drivertest.Order(t, "netns/published", 1, nil)
	o.With = map[string]string{"rules": "10", "conntrack": "off", "filter": "off", "masquerade": "off", "dnat": "off"}
	_, err := netns.Driver{}.Provision(t.Context(), o)
	if lacks, ok := driver.AsUnsupported(err); !ok || !strings.Contains(lacks.Reason, "needs the part conntrack") {
		t.Errorf("got %v, want it to be unsupported", err)
	}
}

// In a user namespace the buffer of a netlink socket cannot be enlarged: the rules are
// committed in batches that fit.
func TestServicesAreCommittedInBatches(t *testing.T) {
	const rule = "-A tare-rules -d 10.96.0.%s/32 -p tcp -m tcp --dport 80 -j tare-rules-target\n"
	rules := func(ns ...string) (s string) {
		for _, n := range ns {
			s += strings.Replace(rule, "%s", n, 1)
		}
		return s
	}
	for batch, want := range map[int]string{
		3: "*nat\n" + rules("1", "2", "3") + "COMMIT\n",
		2: "*nat\n" + rules("1", "2") + "COMMIT\n*nat\n" + rules("3") + "COMMIT\n",
	} {
		must.EqualFor(t, fmt.Sprintf("batches of %d", batch), want, netns.Services(3, batch))
	}
}
