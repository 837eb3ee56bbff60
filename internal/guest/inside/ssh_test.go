//go:build linux

package inside_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/driver"
	vm "tare/internal/guest"
	"tare/internal/guest/initramfs"
	"tare/internal/guest/kernel"
	"tare/internal/hosts"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// The two machines of the test: the guest, which ssh reaches, and a network namespace of this one.
const (
	farName  = "far"
	nearName = "near"
)

// sshGuest is a guest with an OpenSSH server, and the namespace that has the other end of its link.
type sshGuest struct {
	*vm.Machine
	near   *linuxnet.NS
	far    [2]netip.Addr // of the guest, IPv4 and IPv6
	config string        // of ssh
	log    serverLog
}

// serverLog is the output of the ssh server.
type serverLog struct {
	mu       sync.Mutex
	text     strings.Builder
	listens  sync.Once
	listened chan struct{} // closed when it listens
}

func (l *serverLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	if strings.Contains(l.text.String(), "Server listening on") {
		l.listens.Do(func() { close(l.listened) })
	}
	return len(b), nil
}

func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A machine with another kernel is reached by ssh: modes carry traffic between it and this machine
// and within it, the two are known as different machines, nothing is left there after Close, and
// the loss of its power in a trial is the error of the trial.
func TestSSH(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	g := bootSSH(t)
	var far *machine.Machine // the latest
	kind := hosts.MachinesKind(func(ctx context.Context, run, name string, at machine.Address) (m *machine.Machine, err error) {
		if at.Local() {
			return &machine.Machine{Name: name, Address: at, System: machine.Local("").System, User: transport.Local{Start: g.near.Start}}, nil
		}
		began := time.Now()
		m, err = machine.Connect(ctx, run, name, at, machine.Options{Config: g.config, Start: g.near.Start})
		t.Logf("connected in %s", time.Since(began).Round(time.Millisecond))
		far = m
		return m, err
	})
	run := drivertest.Claim(t).ID
	open := func() (driver.Target, driver.HostInfo) {
		on := kind.New(study.Target{Hosts: []study.Host{{Name: farName, Machine: "ssh://guest"}, {Name: nearName, Machine: "local"}}}, hosts.Options{})
		began := time.Now()
		if err := on.Open(t.Context()); err != nil {
			t.Fatalf("%v\n%s\n%s", err, g.log.String(), g.Console())
		}
		t.Logf("opened in %s", time.Since(began).Round(time.Millisecond))
		t.Cleanup(func() { must.Do(t, on.Close()) })
		info := must.Get(on.Begin(driver.Run{ID: run}))(t)
		return on, info
	}
	on, info := open()
	if far.System != machine.Local("").System || far.Root == nil || far.NoRoot != "" {
		t.Errorf("the guest is %s, root %v (%s)", far.System, far.Root, far.NoRoot)
	}
	g.knownAsAnother(t, info)
	for mode, oneMachine := range map[string]bool{"host": false, "host-local": true} {
		t.Run(mode, func(t *testing.T) { carries(t, builtOn(t, on, run, mode), oneMachine) })
	}
	if g.left(t) == "" {
		t.Error("what was placed in the guest is not found there")
	}
	must.Do(t, on.Close())
	g.gone(t)
	on, _ = open()
	t.Run("power loss", func(t *testing.T) { g.losesPower(t, builtOn(t, on, run, "host")) })
	must.Do(t, on.Close())
	if left, err := filepath.Glob(filepath.Join(temp, "tare-*")); err != nil || len(left) > 0 {
		t.Errorf("left on this machine: %q, %v", left, err)
	}
}

// bootSSH boots the guest, whose adapter is a tap device of the namespace, and starts its ssh
// server.
func bootSSH(t *testing.T) *sshGuest {
	t.Helper()
	k, err := kernel.Find(drivertest.NeedGuest(t))
	must.Do(t, err)
	sshd := installed(t, testneed.SSH, "sshd", "/usr/sbin")
	for _, program := range []string{"ssh", "ssh-keygen"} {
		installed(t, testneed.SSH, program)
	}
	g := &sshGuest{log: serverLog{listened: make(chan struct{})}}
	g.near = must.Get(linuxnet.NewNS("inside-ssh"))(t)
	t.Cleanup(func() { must.Do(t, g.near.Close()) })
	const tap = "tap0"
	file := must.Get(g.near.Links().TapDevice(linuxnet.Device{Name: tap}))(t)
	t.Cleanup(func() { file.Close() }) // the device outlives the guest, as the card of a machine whose peer is off
	prefixes := func(host byte) []netip.Prefix {
		return []netip.Prefix{
			netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 19, 253, host}), 24),
			netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 3: 0x02, 6: 0xfe, 15: host}), 64),
		}
	}
	for _, p := range prefixes(1) {
		err = errors.Join(err, g.near.Routes().Address(tap, p))
	}
	must.Do(t, err, g.near.Links().Up("lo"), g.near.Links().Up(tap))
	own := prefixes(2)
	g.far = [2]netip.Addr{own[0].Addr(), own[1].Addr()}
	files := g.keys(t)
	programs := needs(t, []string{sshd, "/bin/sh", "/bin/cat", "/bin/chmod", "/bin/df", "/bin/grep", "/usr/bin/env", "/usr/bin/head", "/bin/mkdir", "/bin/rm", "/bin/uname"})
	g.Machine = must.Get(vm.Boot(t.Context(), vm.Spec{
		Run: drivertest.Claim(t).ID, Label: "ssh", Place: "the guest with the ssh server", Host: g.near, Kernel: k, Accel: vm.TCG, Memory: 1024,
		Model: vm.Models()[0], MAC: "52:54:00:74:61:01", Offload: true, Attach: vm.Attachment{Netdev: "tap,fd=" + vm.NetFile, File: file},
		AddFiles: func(a *initramfs.Archive) error {
			for _, path := range programs {
				if err := carry(a, path); err != nil {
					return fmt.Errorf("copy %s into the guest: %w", path, err)
				}
			}
			for path, text := range files {
				if err := a.File(path, 0o600, strings.NewReader(text), int64(len(text))); err != nil {
					return err
				}
			}
			return nil
		},
	}))(t)
	t.Cleanup(func() {
		must.Do(t, g.Close())
		if t.Failed() {
			t.Logf("the ssh server wrote: %s", g.log.String())
		}
	})
	t.Logf("handshake after %s", g.BootTime)
	must.Do(t, g.Configure(t.Context(), vm.Net{Settings: (&lab.Lab{IPv6: true}).Settings(), Offload: true, Addresses: own}))
	g.serve(t, sshd)
	return g
}

// keys makes the keys of the guest and of its user, and the configuration of ssh. It returns the
// files of the guest by their paths there.
func (g *sshGuest) keys(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	read := func(name string) string {
		text := must.Get(os.ReadFile(at(name)))(t)
		return string(text)
	}
	for _, name := range []string{"user", "host"} {
		if said, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", at(name)).CombinedOutput(); err != nil {
			t.Fatalf("make the key %s: %v: %s", name, err, said)
		}
	}
	g.config = at("config")
	config := fmt.Sprintf("Host guest\n  HostName %s\n  User root\n  IdentityFile %s\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile none\n  UpdateHostKeys no\n",
		g.far[0], at("user"), at("known"))
	must.Do(t, os.WriteFile(g.config, []byte(config), 0o600), os.WriteFile(at("known"), []byte(g.far[0].String()+" "+read("host.pub")), 0o600))
	return map[string]string{
		"etc/passwd":          "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/sh\n",
		"etc/group":           "root:x:0:\nnogroup:x:65534:\n",
		"etc/shadow":          "root:*:19000:0:99999:7:::\n",
		"etc/nsswitch.conf":   "passwd: files\ngroup: files\nshadow: files\n",
		"etc/ssh/host":        read("host"),
		"etc/ssh/user.pub":    read("user.pub"),
		"etc/ssh/sshd_config": "HostKey /etc/ssh/host\nAuthorizedKeysFile /etc/ssh/user.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nPrintMotd no\nPrintLastLog no\nUseDNS no\nPidFile none\n",
	}
}

// serve starts the ssh server and waits until it listens.
func (g *sshGuest) serve(t *testing.T, sshd string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		code, err := g.Exec(ctx, &g.log, []string{"/bin/sh", "-c", `mkdir -m 755 /run/sshd && exec "$0" -D -e -f /etc/ssh/sshd_config`, sshd})
		ended <- fmt.Sprintf("the ssh server ended with exit code %d: %v", code, err)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended // it is killed, or ended with the guest
	})
	select {
	case <-g.log.listened:
	case how := <-ended:
		ended <- how
		t.Fatalf("%s\n%s", how, g.log.String())
	}
}

// knownAsAnother checks that the facts of both machines are known, and that they are two.
func (g *sshGuest) knownAsAnother(t *testing.T, info driver.HostInfo) {
	t.Helper()
	for _, w := range info.Warnings {
		if w.Code == string(warning.SharedKernel) {
			t.Errorf("the guest is taken for this machine: %s", w.Text)
		}
	}
	if !slices.ContainsFunc(info.Warnings, func(w result.Warning) bool {
		return w.Code == string(warning.HostsDiffer) && strings.Contains(w.Text, "kernel") && strings.Contains(w.Text, g.Hello.Kernel)
	}) {
		t.Errorf("no warning says that the kernels differ: %+v", info.Warnings)
	}
	if !info.Apart() || len(info.Report) != 2 || info.Report[0].Name != farName || info.Report[1].Name != nearName {
		t.Errorf("hosts %+v", info)
	}
}

// builtOn builds a mode on the machines and starts its agents.
func builtOn(t *testing.T, on driver.Target, run, mode string) *drivertest.Setup {
	t.Helper()
	d, _ := must.Get2(on.Drivers.For(mode))(t)
	s := drivertest.BuildOn(t, d, driver.Order{Mode: mode, Pairs: 1, Run: run})
	s.Grace = 30 * time.Second
	return s
}

// carries checks that a mode carries traffic, that its proof holds, and that what one endpoint
// sends is what the other receives. The boot ids tell whether both run on one machine.
func carries(t *testing.T, s *drivertest.Setup, oneMachine bool) {
	t.Helper()
	for _, tt := range []struct {
		kind string
		ipv6 bool
	}{{"tcp_rr", false}, {"tcp_stream", true}} {
		p := drivertest.Params(tt.kind)
		p.Direction = studytest.Direction(tt.ipv6)
		client, server := must.Get2(s.Trial(t, p, tt.ipv6))(must.Named(t, tt.kind))
		if client.Sent+server.Sent == 0 || client.Sent != server.Received || server.Sent != client.Received {
			t.Errorf("%s: the client sent %d and received %d bytes, the server %d and %d", tt.kind, client.Sent, client.Received, server.Sent, server.Received)
		}
	}
	must.Do(must.Named(t, "lost"), s.Path.Lost())
	var boots [2]string
	for i, a := range []*agent.Client{s.Ends[0].Client, s.Ends[0].Server} {
		var err error
		if boots[i], _, err = a.CPU(t.Context()); err != nil || boots[i] == "" {
			t.Errorf("boot id %q: %v", boots[i], err)
		}
	}
	must.EqualFor(t, fmt.Sprintf("the boot ids are %q", boots), oneMachine, boots[0] == boots[1])
}

// left lists what tare has in the guest: processes of runs, and files.
func (g *sshGuest) left(t *testing.T) string {
	t.Helper()
	_, said := in(t, g.Machine, "/bin/sh", "-c", `for d in /tmp /var/tmp /dev/shm /root /root/.cache /run /run/netns; do for f in "$d"/tare-*; do [ ! -e "$f" ] || echo "$f"; done; done; `+
		`grep -alsz -e "^--run$" /proc/[0-9]*/cmdline`)
	return said
}

// gone waits until nothing is left.
func (g *sshGuest) gone(t *testing.T) {
	t.Helper()
	var now string
	for until := time.Now().Add(timelimit.Scaled(30 * time.Second)); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if now = g.left(t); now == "" {
			return
		}
	}
	t.Errorf("left in the guest:\n%s", now)
}

// powerTimeout bounds the time until the loss of a machine ends a trial. ssh notices after 20 s.
func powerTimeout() time.Duration { return timelimit.Scaled(90 * time.Second) }

// losesPower switches the guest off while a trial runs.
func (g *sshGuest) losesPower(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), powerTimeout())
	defer cancel()
	listen, dial, err := s.Path.Pairs[0].Server.Reach(false)
	must.Do(t, err)
	p := drivertest.Params("tcp_rr")
	p.Duration, p.Progress = powerTimeout(), traffic.MinProgressInterval
	client, server := p, p
	client.Address, server.Address = dial.String(), listen.String()
	running := make(chan struct{})
	var once sync.Once
	s.Ends[0].Client.Watch(func(traffic.Progress) { once.Do(func() { close(running) }) })
	trial := must.Get(agent.Begin(ctx, s.Ends[0].Client, s.Ends[0].Server, client, server))(t)
	ended := make(chan error, 1)
	go func() {
		_, _, err := trial.Run(ctx)
		ended <- err
	}()
	select {
	case <-running:
	case err := <-ended: // at the latest when ctx ends
		t.Fatalf("the trial ended before the guest: %v", err)
	}
	began := time.Now()
	must.Do(t, g.Close())
	err = <-ended
	t.Logf("after %s: %v", time.Since(began).Round(100*time.Millisecond), err)
	if ctx.Err() != nil || err == nil || !strings.Contains(err.Error(), "machine "+farName+" (ssh://guest)") {
		t.Errorf("the trial's error is %v", err)
	}
	// The path's own agent reads the end of its connection by itself.
	for s.Path.Lost() == nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	must.Fail(t, s.Path.Lost(), farName)
}
