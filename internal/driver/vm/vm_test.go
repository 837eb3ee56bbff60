//go:build linux

package vm_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/topologygolden"
	"tare/internal/driver/vm"
	"tare/internal/guest"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// emulated returns the driver with the tests' kernel and the accelerator that every machine
// has.
func emulated(t *testing.T) vm.Driver {
	t.Helper()
	d := vm.New(drivertest.NeedGuest(t))
	d.Accel = guest.TCG
	return d
}

func order(t *testing.T, mode string) labdriver.Order {
	t.Helper()
	return drivertest.SpecOn(drivertest.Spec(t, func(s *lab.Spec) { s.Label = mode }), driver.Order{Mode: mode, Pairs: 1})
}

// Each guest is booted once: what it carries is proven, a connection that bypasses its path
// makes it void, and nothing of it is left.
func TestModes(t *testing.T) {
	d := emulated(t)
	for _, tt := range []struct {
		mode, facts string
		short       func(*testing.T, *drivertest.Setup)
		want        string // the counter that detects the bypass
	}{
		{"vm/virtio", "virtio-net-pci", besideTheGuest, "a/tap0.tx_bytes"},
		{"vm/virtio-user", "virtio-net-pci", redirected, "a/vm/eth0.rx_bytes"},
		{"vm/virtio-passt", "passt", redirected, "a/vm/eth0.rx_bytes"},
		{"vm/virtio-container", "virtio-net-pci", besideTheSandbox, "a/vm/veth0.tx_bytes"},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			o := order(t, tt.mode)
			left(t, o.Lab.Claim.ID)
			began := time.Now()
			var skipped []string
			if tt.facts == "passt" {
				skipped = []string{"tcp_crr"} // that of 2023 resets some of many connections
			}
			s := drivertest.Build(t, d, o)
			s.Grace = 2 * time.Minute
			s.Conforms(t, driver.Mode{ID: tt.mode}, skipped...)
			t.Logf("proven after %s, hello after %s", time.Since(began), vm.Machines(s.Path)[0].BootTime)
			must.Contain(t, fmt.Sprint(s.Path.Facts), tt.facts, "emulated")
			if s.Path.Emulated == "" {
				t.Error("nothing says that the guest's CPU is an emulated one")
			}
			must.Contain(t, fmt.Sprint(s.Path.Processes()), fmt.Sprint(vm.Machines(s.Path)[0].PID()))
			surveyed(t, s.Path, tt.mode)
			tt.short(t, s)
			s.WaitReachable(t)
			for _, kind := range []string{"tcp_stream", "udp_stream"} {
				s.Void(t, drivertest.Params(kind), tt.want)
			}
		})
	}
}

// Adapters for which the fast-booting kernel has no driver work with another kernel.
func TestFullKernel(t *testing.T) {
	d := vm.New(drivertest.NeedFullGuest(t))
	d.Accel = guest.TCG
	for _, mode := range []string{"vm/e1000", "vm/e1000e"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			o := order(t, mode)
			left(t, o.Lab.Claim.ID)
			s := drivertest.Build(t, d, o)
			s.Grace = 2 * time.Minute
			t.Logf("hello after %s", vm.Machines(s.Path)[0].BootTime)
			if all, want := fmt.Sprint(s.Path.Facts), "{adapter "+strings.TrimPrefix(mode, "vm/")+" "; !strings.Contains(all, want) {
				t.Errorf("the facts are %s; want %s", all, want)
			}
			s.CheckGolden(t, mode)
			s.WaitReachable(t) // its link is up seconds after the guest has booted
			for _, kind := range []string{"tcp_stream", "udp_stream"} {
				must.Get2(s.Trial(t, drivertest.Params(kind), false))(must.Named(t, kind))
			}
		})
	}
}

// Adapters do not differ in the topology: each path is that of virtio with the same
// attachment. When golden files are updated, every mode is built.
func TestDrawn(t *testing.T) {
	for _, m := range vm.New("").Modes() {
		t.Run(m.ID, func(t *testing.T) {
			if drivertest.UpdateGolden() {
				d := emulated(t)
				if strings.Contains(m.ID, "e1000") {
					d.Kernel = drivertest.NeedFullGuest(t)
				}
				drivertest.Build(t, d, order(t, m.ID)).CheckGolden(t, m.ID)
				return
			}
			like := "vm/virtio"
			if _, attached, ok := strings.Cut(m.ID, "-"); ok {
				like += "-" + attached
			}
			got, err1 := topologygolden.ForMode(m.ID)
			want, err2 := topologygolden.ForMode(like)
			if d := cmp.Diff(want, got); err1 != nil || err2 != nil || d != "" {
				t.Errorf("%v, %v; (-%s +%s):\n%s", err1, err2, like, m.ID, d)
			}
		})
	}
}

// left checks at the end of the test that nothing of its run exists any more.
func left(t *testing.T, run string) {
	t.Helper()
	t.Cleanup(func() {
		if names, err := linuxnet.Pinned(lab.Prefix + run); err != nil || len(names) > 0 {
			t.Errorf("left: %v, %v", names, err)
		}
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, l := range lines {
			if text, err := os.ReadFile(l); err == nil && strings.Contains(string(text), lab.Prefix+run) {
				t.Errorf("left: %s", strings.ReplaceAll(string(text), "\x00", " "))
			}
		}
		if files, _ := filepath.Glob(filepath.Join(os.TempDir(), lab.Prefix+run+"*")); len(files) > 0 {
			t.Errorf("left: %v", files)
		}
	})
}

// surveyed checks that a guest's stack is surveyed like one of this machine.
func surveyed(t *testing.T, p *driver.Path, mode string) {
	t.Helper()
	var stacks []driver.Settings
	for _, at := range p.Stacks {
		settings := must.Get(at.Survey(t.Context()))(t)
		stacks = append(stacks, settings)
	}
	in := slices.IndexFunc(stacks, func(s driver.Settings) bool { return s.At == "a/vm" })
	if in < 0 || stacks[in].Sysctls[driver.SysctlCongestion] == "" {
		t.Fatalf("%s leads through %+v", mode, stacks)
	}
	filtered := slices.ContainsFunc(stacks[in].Filters, func(f driver.Filter) bool { return f.Hook == "prerouting" && f.Rules > 0 })
	must.EqualFor(t, fmt.Sprintf("addresses translated in the guest of %s", mode), mode == "vm/virtio-container", filtered)
	for _, at := range p.Stacks {
		if r, err := at.Read(t.Context()); err != nil || len(r.Counters) == 0 {
			t.Errorf("read %s: %d counters, %v", at.Name, len(r.Counters), err)
		}
	}
}

// besideTheGuest puts the server on host a itself, at the guest's address.
func besideTheGuest(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	a := vm.HostA(s.Path)
	for _, at := range s.Path.Pairs[0].Server.Dial {
		must.Do(t, a.Routes().Address("lo", netip.PrefixFrom(at.Addr(), at.Addr().BitLen())))
	}
	s.Ends[0].Server = another(t, s, s.Path.Pairs[0].Client)
}

// redirected redirects packets for the listening process to a server on host a.
func redirected(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	nft, err := exec.LookPath("nft")
	if err != nil {
		testneed.Missing(t, testneed.NFT, err)
	}
	cmd := exec.CommandContext(t.Context(), nft, "-f", "-")
	to := netip.AddrPortFrom(s.Path.Pairs[0].Server.Dial[0].Addr(), 5301)
	cmd.Stdin = strings.NewReader(fmt.Sprintf("table ip short {\n chain output {\n type nat hook output priority -100;\n"+
		"tcp dport 5201 dnat to %s\n udp dport 5201 dnat to %s\n }\n}\n", to, to))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	must.Do(t, vm.HostA(s.Path).Start(cmd))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("redirect: %v: %s", err, &said)
	}
	server := &s.Path.Pairs[0].Server
	server.Listen = slices.Clone(server.Dial)
	server.Listen[0] = to
	s.Ends[0].Server = another(t, s, s.Path.Pairs[0].Client)
}

// besideTheSandbox puts the server into the guest's own network, at a port that is not
// forwarded.
func besideTheSandbox(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	server := &s.Path.Pairs[0].Server
	server.Dial = slices.Clone(server.Dial)
	for i, at := range server.Dial {
		server.Dial[i] = netip.AddrPortFrom(at.Addr(), 5301)
	}
	server.Listen = slices.Clone(server.Dial)
	s.Ends[0].Server = another(t, s, driver.Endpoint{Name: "a/vm", Launcher: vm.Machines(s.Path)[0].In("")})
}

// another starts a further agent.
func another(t *testing.T, s *drivertest.Setup, at driver.Endpoint) *agent.Client {
	t.Helper()
	c := must.Get(agent.Start(t.Context(), at.Launcher, s.Lab.Spec.Claim.ID, at.Name))(t)
	t.Cleanup(func() {
		must.Do(t, c.Close())
	})
	return c
}

// A port opened by a host process accepts connections before anything in the guest listens.
// This must not be taken for readiness.
func TestAcceptedTooSoon(t *testing.T) {
	d := emulated(t)
	o := order(t, "vm/virtio-user")
	left(t, o.Lab.Claim.ID)
	s := drivertest.Build(t, d, o)
	s.Grace = 2 * time.Minute
	server := s.Path.Pairs[0].Server
	must.Do(must.Named(t, "a connection to the open port"), vm.HostA(s.Path).Do(func() error {
		c, err := net.DialTimeout("tcp", server.Dial[0].String(), 10*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			return err
		}
		if n, err := c.Read(make([]byte, 1)); err == nil {
			return fmt.Errorf("somebody said %d bytes", n)
		}
		return nil
	}))
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Error(err)
	}
	// A killed machine takes its agents with it, and their errors say how it exited.
	m := vm.Machines(s.Path)[0]
	must.Do(t, m.Close())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := s.Ends[0].Server.Read(ctx); err == nil || !strings.Contains(err.Error(), "QEMU ended") {
		t.Errorf("an agent of a machine that is gone: %v", err)
	}
	if _, err := s.Path.Snapshot(ctx); err == nil || !strings.Contains(err.Error(), "QEMU ended") {
		t.Errorf("counters of a machine that is gone: %v", err)
	}
}

// Missing requirements are reported in one line, and nothing is left.
func TestLacking(t *testing.T) {
	dir := drivertest.NeedGuest(t)
	empty := t.TempDir()
	for _, tt := range []struct {
		name, mode, kernel string
		hide               bool // the programs
		options            map[string]string
		want               string
	}{
		{name: "no QEMU", mode: "vm/virtio", kernel: dir, hide: true, want: "qemu-system-x86_64 is not installed"},
		{name: "no passt", mode: "vm/virtio-passt", kernel: dir, hide: true, want: "passt is not installed"},
		{name: "no module", mode: "vm/e1000e", kernel: dir, want: "has no module e1000e"},
		{name: "no kernel", mode: "vm/virtio", kernel: empty, want: "no kernel image with its modules below " + empty},
		{name: "no such kernel", mode: "vm/virtio", kernel: dir, options: map[string]string{vm.OptionKernel: "/nowhere/vmlinuz"}, want: "/nowhere/vmlinuz: no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := vm.New(tt.kernel)
			d.Accel = guest.TCG
			if tt.hide {
				t.Setenv("PATH", empty)
			}
			o := order(t, tt.mode)
			o.Options = tt.options
			left(t, o.Lab.Claim.ID)
			_, err := d.Provision(t.Context(), o)
			u, ok := driver.AsUnsupported(err)
			if !ok || !strings.Contains(u.Reason, tt.want) || strings.Contains(u.Reason, "\n") {
				t.Errorf("got %v, want an unsupported mode and %q", err, tt.want)
			}
		})
	}
	d := emulated(t)
	for name, options := range map[string]map[string]string{"an option that is none": {"cores": "2"}, "an accelerator that is none": {vm.OptionAccel: "fast"}} {
		o := order(t, "vm/virtio")
		o.Options = options
		if _, err := d.Provision(t.Context(), o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestTitles(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range vm.New("").Modes() {
		if seen[m.Title] || !strings.HasPrefix(m.ID, "vm/") || m.Baseline != "host-local" || !m.Options {
			t.Errorf("%+v", m)
		}
		seen[m.Title] = true
	}
	must.Equal(t, 10, len(seen))
}
