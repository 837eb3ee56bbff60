//go:build linux

package lab_test

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/runid"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
)

func TestMain(m *testing.M) { drivertest.MainInNamespaces(m) }

// The subnets of all slots are disjoint and inside the ranges reserved for benchmarking.
func TestAddressesAreDisjoint(t *testing.T) {
	v4, v6 := netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("2001:2::/48")
	seen := map[netip.Prefix]string{}
	for slot := range lab.Slots {
		l := &lab.Lab{Spec: lab.Spec{Claim: lab.Claim{Slot: slot}}, IPv6: true}
		for _, n := range []lab.Net{lab.NetUnderlay, lab.NetA, lab.NetB, lab.NetOverlay} {
			for _, p := range l.Addresses(n, 1) {
				must.True(t, v4.Contains(p.Addr()) || v6.Contains(p.Addr()), "%s is outside %s and %s", p, v4, v6)
				if was, taken := seen[p.Masked()]; taken {
					t.Errorf("%s of slot %d net %d is also %s", p.Masked(), slot, n, was)
				}
				seen[p.Masked()] = p.String()
			}
		}
	}
	pools := map[netip.Prefix]bool{}
	for slot := range lab.Slots {
		l := &lab.Lab{Spec: lab.Spec{Claim: lab.Claim{Slot: slot}}}
		for _, p := range []lab.Pool{lab.PoolA, lab.PoolB, lab.PoolSwarm} {
			pool := l.Pool(p)
			must.True(t, v4.Contains(pool.Addr()) && pool.Masked() == pool && !pools[pool], "pool %d of slot %d is %s", p, slot, pool)
			pools[pool] = true
			for net, was := range seen {
				must.True(t, !net.Overlaps(pool), "pool %d of slot %d overlaps %s", p, slot, was)
			}
		}
	}
	must.Equal(t, lab.Slots*4*2, len(seen))
}

func TestClaimsDiffer(t *testing.T) {
	var all []lab.Claim
	for range 3 {
		c := must.Get(lab.Standalone())(t)
		defer c.Release()
		for _, other := range all {
			must.True(t, other.ID != c.ID && other.Slot != c.Slot, "%+v and %+v", other, c)
		}
		all = append(all, c)
	}
	running := must.Get(runid.Running())(t)
	for _, c := range all {
		must.True(t, slices.Contains(running, c.ID), "%s is not among the running %v", c.ID, running)
	}
	slot := all[0].Slot
	all[0].Release()
	again := must.Get(lab.Standalone())(t)
	defer again.Release()
	must.True(t, again.Slot <= slot, "slot %d was free, got %d", slot, again.Slot)
}

func TestFull(t *testing.T) {
	for range lab.Slots {
		c, err := lab.Standalone()
		if errors.Is(err, lab.ErrFull) {
			return
		}
		must.Do(t, err)
		defer c.Release()
	}
	if _, err := lab.Standalone(); !errors.Is(err, lab.ErrFull) {
		t.Errorf("with all slots taken: %v", err)
	}
}

// The two hosts reach each other over IPv4 and IPv6, and nothing else.
func TestHostsReachEachOther(t *testing.T) {
	l := drivertest.Lab(t, nil)
	for _, addr := range l.B.Addr {
		var listener net.Listener
		must.Do(t, l.B.NS.Do(func() (err error) {
			listener, err = net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
			return err
		}))
		defer listener.Close()
		err := l.A.NS.Do(func() error {
			c, err := net.DialTimeout("tcp", listener.Addr().String(), timelimit.Scaled(5*time.Second))
			if err == nil {
				c.Close()
			}
			return err
		})
		must.EqualFor(t, "a reaches b", nil, err)
	}
	err := l.A.NS.Do(func() error {
		c, err := net.DialTimeout("tcp", "192.0.2.1:80", time.Second)
		if err == nil {
			c.Close()
		}
		return err
	})
	must.FailFor(t, "a way out of the lab", err, "unreachable")
}

func TestSpecIsApplied(t *testing.T) {
	l := drivertest.Lab(t, func(s *lab.Spec) { s.MTU, s.Offload = 9000, false })
	for _, h := range []*lab.Host{l.A, l.B} {
		s := must.Get(h.NS.Links().Stats(h.Underlay))(t)
		must.EqualFor(t, fmt.Sprintf("%s: %+v", h.Name, s), []any{9000, true}, []any{s.MTU, s.Up})
		on := must.Get(h.NS.Tuning().Offloads(h.Underlay))(t)
		must.True(t, !on["tso"] && !on["gso"] && !on["gro"], "%s: offloads %v, want none", h.Name, on)
		for name, want := range map[string]string{"net/ipv4/tcp_no_metrics_save": "1", "net/ipv4/conf/eth0/rp_filter": "0",
			"net/ipv4/ip_local_port_range": "1024 65535", "net/ipv4/tcp_tw_reuse": "1",
			"net/ipv4/ip_local_reserved_ports": "2377,4500,4789,5201-5400,7946,51820"} {
			must.EqualFor(t, fmt.Sprintf("%s: %s", h.Name, name), want, must.Get(h.NS.ReadSysctl(name))(t))
		}
	}
	plain := drivertest.Lab(t, nil)
	if on, err := plain.A.NS.Tuning().Offloads(lab.Underlay); err != nil || !on["tso"] {
		t.Errorf("offloads %v (%v), want tso on", on, err)
	}
}

// Connections never get a port on which an engine of a Swarm or a mode will listen, however
// many there are: it would be busy until the end of TIME_WAIT.
func TestSourcePortsAreNotListenedOn(t *testing.T) {
	l := drivertest.Lab(t, nil)
	const first, last, reserved = 7940, 7949, 7946
	must.Do(t, l.A.NS.Sysctl("net/ipv4/ip_local_port_range", fmt.Sprintf("%d %d", first, last)))
	must.Do(t, l.A.NS.Do(func() error {
		server, err := net.Listen("tcp", "127.0.0.1:1")
		if err != nil {
			return err
		}
		defer server.Close()
		used := map[int]bool{}
		for len(used) <= last-first {
			c, err := net.Dial("tcp", "127.0.0.1:1")
			if errors.Is(err, syscall.EADDRNOTAVAIL) {
				break
			}
			if err != nil {
				return err
			}
			defer c.Close()
			used[c.LocalAddr().(*net.TCPAddr).Port] = true
		}
		if used[reserved] || len(used) != last-first {
			t.Errorf("connections from ports %v", slices.Sorted(maps.Keys(used)))
		}
		own, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", reserved))
		if err != nil {
			return err
		}
		return own.Close()
	}))
}

// A lab leaves no namespace name behind and can be closed twice.
func TestNothingLeft(t *testing.T) {
	drivertest.NeedLab(t)
	drivertest.NeedRoot(t, "only root names namespaces")
	claim := must.Get(lab.Standalone())(t)
	defer claim.Release()
	l := must.Get(lab.Up(lab.Spec{Claim: claim, Label: "x/y", MTU: 1500, Pin: true}))(t)
	names, err := linuxnet.Pinned(lab.Prefix + claim.ID)
	must.True(t, err == nil && slices.Equal(names, []string{"tare-" + claim.ID + "-x.y-a", "tare-" + claim.ID + "-x.y-b"}), "names %v (%v)", names, err)
	for range 2 {
		must.Equal(t, nil, l.Close())
	}
	if names, _ := linuxnet.Pinned(lab.Prefix + claim.ID); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

// orphan starts an agent whose stdin stays open and whose parent has exited.
func orphan(t *testing.T, run string) int {
	t.Helper()
	in := must.Get(os.OpenFile(filepath.Join(t.TempDir(), "stdin"), os.O_CREATE|os.O_RDWR, 0o600))(t)
	must.Do(t, errors.Join(os.Remove(in.Name()), in.Close(), syscall.Mkfifo(in.Name(), 0o600)))
	exe := must.Get(os.Executable())(t)
	// bash can set a program's argv[0]; the fifo, opened for reading and writing, never
	// reaches end of file.
	const script = `(exec -a tare "$0" agent --run "$1" <>"$2" >/dev/null 2>&1 & echo $!)`
	out := must.Get(exec.Command("bash", "-c", script, exe, run, in.Name()).Output())(t)
	pid := must.Get(strconv.Atoi(strings.TrimSpace(string(out))))(t)
	for deadline := time.Now().Add(timelimit.Scaled(10 * time.Second)); ; time.Sleep(10 * time.Millisecond) {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err == nil && strings.HasPrefix(string(line), "tare\x00agent\x00") {
			return pid
		}
		must.Require(t, !time.Now().After(deadline), "the orphan did not start: %q, %v", line, err)
	}
}

// Leftovers finds what a dead run left, and nothing else.
func TestLeftovers(t *testing.T) {
	drivertest.NeedLab(t)
	drivertest.NeedRoot(t, "only root leaves namespaces behind")
	alive := drivertest.Lab(t, nil)
	dead := must.Get(lab.Standalone())(t)
	ns := must.Get(linuxnet.NewPinnedNS(lab.Prefix+dead.ID+"-host-a", lab.Prefix+dead.ID))(t)
	defer ns.Close()
	pid := orphan(t, dead.ID)
	dead.Release()
	found := must.Get(lab.Leftovers())(t)
	of := map[string]int{}
	for _, l := range found {
		of[l.Run]++
	}
	must.Require(t, of[dead.ID] == 2 && of[alive.Spec.Claim.ID] == 0, "found %+v, want two of %s and none of %s", found, dead.ID, alive.Spec.Claim.ID)
	for _, l := range found {
		if l.Run != dead.ID {
			continue
		}
		for range 2 { // the second time it has already been removed
			must.Equal(t, nil, l.Remove())
		}
	}
	for deadline := time.Now().Add(timelimit.Scaled(10 * time.Second)); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		must.Require(t, !time.Now().After(deadline), "the stuck agent %d is still there", pid)
	}
	if names, _ := linuxnet.Pinned(lab.Prefix + dead.ID); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

// A run is alive while its controller is, even if its claim is invisible.
func TestAgentsOfLiveRunsAreNotLeftovers(t *testing.T) {
	claim := must.Get(lab.Standalone())(t)
	claim.Release() // simulates the view from another network namespace
	c := must.Get(agent.Start(t.Context(), transport.Local{}, claim.ID, "here"))(t)
	defer c.Close()
	found := must.Get(lab.Leftovers())(t)
	for _, l := range found {
		must.True(t, l.Run != claim.ID, "%s is led by this process, and yet a leftover", l.What)
	}
}

// The emulator of a dead run's virtual machine is found by the machine's name; other
// emulators are not.
func TestGuestOfDeadRun(t *testing.T) {
	drivertest.NeedLab(t)
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		testneed.Missing(t, testneed.QEMU, err)
	}
	dead := must.Get(lab.Standalone())(t)
	dead.Release()
	start := func(name string) int {
		// The emulator starts and runs nothing; its parent, a shell, exits at once.
		const script = `"$0" -nodefaults -no-user-config -display none -machine none -S -name "$1" <>/dev/null >/dev/null 2>&1 & echo $!`
		out := must.Get(exec.Command("bash", "-c", script, qemu, name).Output())(t)
		pid := must.Get(strconv.Atoi(strings.TrimSpace(string(out))))(t)
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		for deadline := time.Now().Add(timelimit.Scaled(10 * time.Second)); ; time.Sleep(10 * time.Millisecond) {
			line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
			if args := strings.Split(string(line), "\x00"); err == nil && strings.HasPrefix(filepath.Base(args[0]), "qemu-system-") && slices.Contains(args, name) {
				return pid
			}
			must.Require(t, !time.Now().After(deadline), "QEMU did not start: %q, %v", line, err)
		}
	}
	ours, other := start(lab.Prefix+dead.ID+"-vm.virtio-vm"), start("tare-farm-"+dead.ID)
	found := must.Get(lab.Leftovers())(t)
	of := slices.DeleteFunc(found, func(l lab.Leftover) bool { return l.Run != dead.ID })
	must.Require(t, len(of) == 1 && of[0].What == "process "+strconv.Itoa(ours), "found %+v, want process %d alone", of, ours)
	must.Do(t, of[0].Remove())
	for deadline := time.Now().Add(timelimit.Scaled(10 * time.Second)); running(ours); time.Sleep(10 * time.Millisecond) {
		must.Require(t, !time.Now().After(deadline), "QEMU, process %d, is still there", ours)
	}
	must.True(t, running(other), "somebody else's QEMU was ended")
}

// running reports whether a process exists and has not exited.
func running(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
