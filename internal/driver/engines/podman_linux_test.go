package engines_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// needPodman is for tests with Podman; see testneed.
func needPodman(t *testing.T) {
	t.Helper()
	drivertest.NeedEngine(t)
	if _, err := private.FindPodman(t.Context(), "", "iptables", "slirp4netns", "rootlessport"); err != nil {
		testneed.Missing(t, testneed.Podman, err)
	}
}

func TestEnginesPodman(t *testing.T) {
	needPodman(t)
	drivertest.Conformance(t, engines.Podman{}, 2)
}

// needCurrentPodman is for tests with the Podman of scripts/setup-podman-current, which it makes that of the test.
func needCurrentPodman(t *testing.T) (dir string) {
	t.Helper()
	drivertest.NeedEngine(t)
	dir = cmp.Or(os.Getenv("TARE_PODMAN_CURRENT"), "/var/cache/tare/podman-current")
	t.Setenv(private.PodmanVariable, dir)
	if _, err := private.FindPodman(t.Context(), "", "iptables", "pasta"); err != nil {
		testneed.Missing(t, testneed.NewPodman, err)
	}
	return dir
}

// A current Podman writes its rules with nftables, which have no counters, and is proven all the same.
func TestEnginesPodmanCurrent(t *testing.T) {
	needCurrentPodman(t)
	drivertest.Conformance(t, drivertest.Only(engines.Podman{}, "podman/bridge", "podman/rootless-pasta"), 2)
}

// netavark 2, as Podman 6 has it, with a setting that asks whether the host translates addresses.
func TestEnginesPodmanNetavark2(t *testing.T) {
	current := needCurrentPodman(t)
	dir := t.TempDir()
	cache := must.Get(os.UserCacheDir())(t)
	netavark := filepath.Join(cmp.Or(os.Getenv("TARE_NETAVARK"), filepath.Join(cache, "tare/netavark")), "bin/netavark")
	if _, err := os.Stat(netavark); err != nil {
		testneed.Missing(t, testneed.Netavark, err)
	}
	must.Do(t, os.MkdirAll(filepath.Join(dir, "root/usr/lib/podman"), 0o755))
	for name, to := range map[string]string{"bin": filepath.Join(current, "bin"), "root/usr/libexec": filepath.Join(current, "root/usr/libexec"), "root/usr/lib/podman/netavark": netavark} {
		must.Do(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	t.Setenv(private.PodmanVariable, dir)
	o := drivertest.Order(t, "podman/bridge", 1, nil)
	o.With = map[string]string{"conntrack_fill": "100"}
	s := drivertest.Build(t, engines.Podman{}, o)
	facts := map[string]string{}
	for _, f := range s.Path.Facts {
		facts[f.Name] = f.Value
	}
	if !strings.HasPrefix(facts["a network backend"], "netavark 2.") || facts["b firewall driver"] != "nftables" {
		t.Errorf("the facts are %v", facts)
	}
	for _, kind := range []string{"tcp_crr", "udp_rr"} {
		must.Get2(s.Trial(t, drivertest.Params(kind), false))(t)
	}
}

// The backend cni is proven as netavark is.
func TestEnginesPodmanCNI(t *testing.T) {
	needPodman(t)
	o := drivertest.Order(t, "podman/bridge", 2, nil)
	o.Options = map[string]string{"backend": "cni"}
	s := drivertest.Build(t, engines.Podman{}, o)
	for _, kind := range []string{"tcp_stream", "udp_rr"} {
		must.EqualFor(t, kind, nil, must.Err(s.TrialPairs(t, drivertest.Params(kind), false, 2)))
	}
}

// Each keeps the traffic flowing on a path that is not the mode's, which must be void.
func TestEnginesPodmanShortcutsAreVoid(t *testing.T) {
	needPodman(t)
	for _, tt := range []struct {
		name, mode string
		open       func(*drivertest.Setup) error
		want       string
	}{
		{"another rule", "podman/published", otherRule, "b/dnat:5201.packets"},
		{"no masquerade, routed back", "podman/bridge", unmasqueraded, "a/masquerade.packets"},
		{"a second link", "podman/host", secondLink, "a/eth0.tx_bytes"},
		{"a rule for rootlessport", "podman/rootless-slirp4netns", cableToServer, "b/rootlessport:5201.run_ns"},
	} {
		t.Run(tt.name, func(t *testing.T) { bypassed(t, tt.mode, tt.open, tt.want) })
	}
}

// bypassed checks that a mode is proven, and void after the shortcut was opened.
func bypassed(t *testing.T, mode string, open func(*drivertest.Setup) error, want string) {
	t.Helper()
	s := drivertest.Provision(t, engines.Podman{}, mode, nil)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Fatalf("before the shortcut: %v", err)
	}
	must.Do(t, open(s))
	s.WaitReachable(t)
	s.Void(t, drivertest.Params("tcp_stream"), want)
}

// The same where Podman's rules are those of nftables.
func TestEnginesPodmanCurrentShortcutsAreVoid(t *testing.T) {
	needCurrentPodman(t)
	for _, tt := range []struct {
		name, mode string
		open       func(*drivertest.Setup) error
		want       string
	}{
		{"another rule", "podman/published", otherRule, "b/dnat:5201.packets"},
		{"no masquerade, routed back", "podman/bridge", unmasqueradedByNft, "a/masquerade.packets"},
	} {
		t.Run(tt.name, func(t *testing.T) { bypassed(t, tt.mode, tt.open, tt.want) })
	}
}

// otherRule translates the published port by a rule that is not Podman's.
func otherRule(s *drivertest.Setup) error {
	at := s.Path.Pairs[0].Server.Listen[0]
	return run(s.Lab.B.NS, "iptables", "-t", "nat", "-I", "PREROUTING", "-p", "tcp", "--dport", fmt.Sprint(at.Port()), "-j", "DNAT", "--to-destination", at.String())
}

// unmasqueraded keeps the client's own address and adds a route back on b.
func unmasqueraded(s *drivertest.Setup) error {
	return errors.Join(run(s.Lab.A.NS, "iptables", "-t", "nat", "-I", "POSTROUTING", "-j", "RETURN"), routeBack(s))
}

func unmasqueradedByNft(s *drivertest.Setup) error {
	return errors.Join(run(s.Lab.A.NS, "nft", "insert", "rule", "inet", "netavark", "POSTROUTING", "accept"), routeBack(s))
}

func routeBack(s *drivertest.Setup) error {
	return s.Lab.B.NS.Routes().Route(s.Lab.Addresses(lab.NetA, 0)[0].Masked(), s.Lab.A.Addr[0], "")
}

func secondLink(s *drivertest.Setup) error { return connect(s, s.Lab.B.NS) }

// cableToServer leads packets for the published port straight into the server's container.
func cableToServer(s *drivertest.Setup) error {
	server, _ := engines.ServerNamespace(s.Path)
	to := s.Path.Pairs[0].Server.Dial[0].Addr()
	s.Path.Pairs[0].Server.Listen[0] = netip.AddrPortFrom(to, s.Path.Pairs[0].Server.Listen[0].Port())
	return errors.Join(connect(s, server), server.Routes().Address("cable1", netip.PrefixFrom(to, 32)))
}

// connect joins host a and a namespace by a veth, and routes the dialled address over it.
func connect(s *drivertest.Setup, server *linuxnet.NS) error {
	a := s.Lab.A.NS
	return errors.Join(
		a.Links().Veth(linuxnet.Device{Name: "cable0"}, server, linuxnet.Device{Name: "cable1"}),
		a.Links().Up("cable0"), server.Links().Up("cable1"),
		a.Routes().Address("cable0", netip.MustParsePrefix("198.19.255.1/24")), server.Routes().Address("cable1", netip.MustParsePrefix("198.19.255.2/24")),
		a.Routes().Route(netip.PrefixFrom(s.Path.Pairs[0].Server.Dial[0].Addr(), 32), netip.MustParseAddr("198.19.255.2"), "cable0"))
}

// What cannot be had is said in one line, with what to do.
func TestEnginesPodmanUnsupported(t *testing.T) {
	needPodman(t)
	for name, tt := range map[string]struct {
		mode, script, want string
		options            map[string]string
		unsupported        bool
	}{
		"too old":            {"podman/host", "echo podman version 3.4.4", "is too old; install 4.0 or newer (tested: 4.3 to 5.8)", nil, true},
		"too new":            {"podman/host", `[ "$1" = --version ] && { echo podman version 6.1.0; exit; }; exit 7`, "ended (exit status 7) (Podman 6.1.0 is newer than those that were tested, 4.3 to 5.8)", nil, false},
		"no slirp4netns":     {"podman/rootless-slirp4netns", "echo podman version 6.0.0", "has no network slirp4netns, which ended with version 5; use podman/rootless-pasta", nil, true},
		"no version":         {"podman/host", "exit 1", "does not report its version; install Podman 4", nil, true},
		"does not start":     {"podman/host", `[ "$1" = --version ] && { echo podman version 4.9.0; exit; }; echo no luck >&2; exit 7`, "ended (exit status 7): no luck", nil, false},
		"no pasta":           {"podman/rootless-pasta", "echo podman version 4.3.1", "has no network pasta; install 4.4 or newer", nil, true},
		"no cni":             {"podman/bridge", "echo podman version 5.0.0", "has no network backend cni", map[string]string{"backend": "cni"}, true},
		"an unknown backend": {"podman/bridge", "echo podman version 5.0.0", `no network backend "x"`, map[string]string{"backend": "x"}, true},
		"an unknown option":  {"podman/host", "echo podman version 5.0.0", "unknown option backend", map[string]string{"backend": "cni"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "podman")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755); err != nil { //nolint:gosec // it is to be run
				t.Fatal(err)
			}
			// conmon and the runtime of the real one.
			t.Setenv("PATH", podmanPrograms(t)+":"+os.Getenv("PATH"))
			t.Setenv(private.PodmanVariable, program)
			spec := drivertest.Spec(t, nil)
			_, err := engines.Podman{}.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: tt.mode, Pairs: 1, Options: tt.options}))
			must.FailLine(t, "the error", err, tt.want)
			if _, is := driver.AsUnsupported(err); is != tt.unsupported {
				t.Errorf("unsupported: %t, want %t: %v", is, tt.unsupported, err)
			}
			nothingOfPodmanLeft(t, spec.Claim.ID)
		})
	}
}

// programs returns the directory of the real Podman.
func podmanPrograms(t *testing.T) string {
	t.Helper()
	c := must.Get(private.DescribePodman(t.Context()))(t)
	return filepath.Dir(c.Path)
}

// doomed is the environment variable that makes this test binary a run of a mode, which waits until
// it is killed.
const doomed = "TARE_TEST_DOOMED"

func standDoomed(mode string) error {
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	p, err := engines.Podman{}.Provision(context.Background(), drivertest.SpecOn(
		lab.Spec{Claim: claim, Label: "doomed", MTU: lab.DefaultMTU, Offload: true, Pin: true}, driver.Order{Mode: mode, Pairs: 1}))
	if err != nil {
		return err
	}
	fmt.Println(claim.ID, len(p.Processes()))
	select {}
}

// After kill -9 nothing runs, and gc removes the rest.
func TestEnginesPodmanKilled(t *testing.T) {
	needPodman(t)
	for _, mode := range []string{"podman/bridge", "podman/rootless-slirp4netns"} {
		t.Run(mode, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
			cmd.Env = append(os.Environ(), doomed+"="+mode)
			cmd.Stderr = os.Stderr
			out := must.Get(cmd.StdoutPipe())(t)
			must.Do(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			id, _, _ := strings.Cut(line, " ")
			children, below := linuxnet.Descendants(cmd.Process.Pid)
			if killed := cmd.Process.Kill(); err != nil || below != nil || killed != nil || len(children) < 4 {
				t.Fatalf("it says %q: %v, %v, %v; %d processes", line, err, below, killed, len(children))
			}
			_ = cmd.Wait() // it was killed
			for _, pid := range children {
				drivertest.WaitEnded(t, pid)
			}
			alive := must.Get(lab.Alive())(t)
			found, err := private.Leftovers(alive)
			if err != nil || len(found) == 0 {
				t.Errorf("gc finds %v, %v", found, err)
			}
			for _, l := range found {
				must.Equal(t, nil, l.Remove(t.Context()))
			}
			labs := must.Get(lab.Leftovers())(t)
			for _, l := range labs {
				must.Equal(t, nil, l.Remove())
			}
			nothingOfPodmanLeft(t, id)
		})
	}
}

// nothingOfPodmanLeft checks that a run with Podman has left nothing on this machine.
func nothingOfPodmanLeft(t *testing.T, run string) {
	t.Helper()
	nothingLeft(t, run)
	for _, pattern := range []string{"/dev/shm/libpod*", "/run/netns/netns-*", "/sys/fs/cgroup/*/libpod*"} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
}
