package mesh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/tunnel"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

// program is the installed Nebula.
const program = "nebula"

// device is the overlay's device on both hosts, as in Nebula's example.
const device = "nebula1"

// counterOwner is the object that the counter of a process belongs to.
const counterOwner = "nebula"

// port is Nebula's usual UDP port.
const port = 4242

// mtuReduction is the default difference between the underlay's MTU and the inner MTU: Nebula's
// default for its device, 1300 on Ethernet.
const mtuReduction = 200

// oldest is the first version with certificates for IPv6, as major and minor number.
func oldest() []int { return []int{1, 10} }

// startTimeout limits how long Nebula may take to set its device up.
func startTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("mesh", o.Mode)
	if err != nil {
		return nil, err
	}
	in, err := find(ctx, o.Mode)
	if err != nil {
		return nil, err
	}
	if err := linuxnet.CheckTUN(); err != nil {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: err.Error()}
	}
	return tunnel.Provision(ctx, o, tunnel.Kind{Mode: row.Mode, Port: port, MTUReduction: mtuReduction}, func(ctx context.Context, p *tunnel.Path) (string, error) {
		return device, setUp(ctx, p, in, cmp.Or(o.With[settingCipher], cipherAES))
	})
}

// installed is an installed Nebula.
type installed struct{ path, version string }

// find finds the installed Nebula.
func find(ctx context.Context, mode string) (installed, error) {
	const install = "install Nebula 1.10 or newer from github.com/slackhq/nebula/releases (for tests: scripts/setup-nebula)"
	path, err := daemon.Find(program)
	if err != nil {
		return installed{}, &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("%s is not installed: %v; %s", program, err, install)}
	}
	const prefix = "Version: "
	line, err := daemon.VersionLine(ctx, path, "-version", prefix)
	if err != nil {
		return installed{}, &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("%v; %s, or leave this mode out", err, install)}
	}
	in := installed{path, strings.TrimPrefix(line, prefix)}
	is := make([]int, 2)
	if _, err := fmt.Sscanf(in.version, "%d.%d", &is[0], &is[1]); err == nil && slices.Compare(is, oldest()) < 0 { // a build of one's own may have any version
		return in, &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("%s is Nebula %s, which has no certificates for IPv6; %s", path, in.version, install)}
	}
	return in, nil
}

// host is one side of the overlay with its addresses there, IPv4 first.
type host struct {
	*tunnel.Side
	own  []netip.Prefix
	proc *daemon.Process
}

// setUp sets the overlay up between the two hosts of p.
func setUp(ctx context.Context, p *tunnel.Path, in installed, cipher string) error {
	hosts := []*host{{Side: p.Near}, {Side: p.Far}}
	for i, h := range hosts {
		h.own = p.Lab().Addresses(lab.NetOverlay, i+1)
	}
	signs, err := authorityOf(p)
	if err != nil {
		return err
	}
	for i, h := range hosts {
		if err := h.start(ctx, p, in, signs, cipher, hosts[1-i]); err != nil {
			return err
		}
		if err := p.AdoptDevice(h.Side, device); err != nil {
			return err
		}
		if err := p.RouteToPeer(h.Side, device); err != nil {
			return err
		}
		p.AddHandler(h.Side, "process", program, counterOwner)
	}
	p.Diagnose = func(err error) error { return explain(hosts, err) }
	p.AddDeciding("Nebula", fmt.Sprintf("%s (%s)", in.version, in.path))
	p.AddFact("cipher", cipher+", keys by Curve25519 (Noise IX)")
	if err := p.Taps(func(*tunnel.Side) linuxnet.TunnelIngress { return linuxnet.TunnelIngress{Port: port} }); err != nil {
		return err
	}
	for _, h := range hosts { // it counts no bytes
		if err := p.MustBeBusy(h.proc, driver.Rule{Counter: pathspec.CounterName(h.At, counterOwner, "run_ns")}); err != nil {
			return err
		}
	}
	return nil
}

// authorityOf returns the authority of a path.
func authorityOf(p *tunnel.Path) (authority, error) {
	random, err := p.Lab().Spec.Key("nebula authority")
	if err != nil {
		return authority{}, err
	}
	return newAuthority(random, anyTime())
}

// attempts is how often Nebula is started on a host. It gives up if the kernel has not completed
// its IPv6 address 200 ms after it added it, which happens on a busy machine.
const attempts = 3

// addressIncomplete is in the last line of a Nebula that gave up so.
const addressIncomplete = "on the default route"

// start starts the host's process and waits until it is ready. Certificates and keys are files in
// its private /run, in memory.
func (h *host) start(ctx context.Context, p *tunnel.Path, in installed, signs authority, cipher string, other *host) error {
	random, err := p.Lab().Spec.Key("nebula " + h.At)
	if err != nil {
		return err
	}
	creds, err := signs.issue(h.At, h.own, h.Subnets, random)
	if err != nil {
		return err
	}
	cfg := config{cipher: cipher, mtu: p.MTU, peer: other.own[0].Addr(), at: netip.AddrPortFrom(other.Host.Addr[0], port), behind: other.Subnets}
	ready, err := h.listenReady()
	if err != nil {
		return err
	}
	defer ready.Close()
	launch := daemon.Program{
		Name: program + " of host " + h.At, Run: p.Lab().Spec.Claim.ID, Path: in.path, Args: []string{"-config", filepath.Join("/run", configFile)},
		Env:   []string{"NOTIFY_SOCKET=" + readySocket},
		Files: map[string]string{configFile: cfg.text(), authorityFile: creds.authority, certificateFile: creds.certificate, privateFile: creds.private},
		Start: h.NS.Start,
	}.Launch
	for attempt := 1; ; attempt++ {
		if h.proc, err = launch(); err != nil {
			return err
		}
		err = awaitReady(ctx, h.proc, ready)
		if err == nil {
			p.AddProcess(h.proc)
			return nil
		}
		if end := h.proc.Close(); end != nil || attempt == attempts || !strings.Contains(err.Error(), addressIncomplete) {
			return errors.Join(err, end)
		}
	}
}

// readySocket is the abstract Unix socket on which a process says that it is ready, as services
// of systemd do (sd_notify). Such names belong to a network namespace, so each host has its own.
const readySocket = "@tare-nebula"

// listenReady opens the socket on the host.
func (h *host) listenReady() (ready *net.UnixConn, err error) {
	err = h.NS.Do(func() (err error) {
		ready, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: readySocket, Net: "unixgram"})
		return err
	})
	return ready, err
}

// awaitReady waits until a process has set its device up and forwards packets.
func awaitReady(ctx context.Context, proc *daemon.Process, ready *net.UnixConn) error {
	return proc.WaitFor(ctx, startTimeout(), "set "+device+" up", func() error {
		if err := ready.SetReadDeadline(time.Now().Add(pollReady)); err != nil {
			return err
		}
		_, err := ready.Read(make([]byte, 64))
		return err
	})
}

// pollReady is how long to wait for the message before the process is looked at again.
const pollReady = 5 * time.Millisecond

// explain adds to the error that nothing arrives what each process has reported last.
func explain(hosts []*host, err error) error {
	for _, h := range hosts {
		lines := strings.Split(strings.TrimSpace(h.proc.StderrTail()), "\n")
		err = fmt.Errorf("%w; %s reported last: %.200s", err, h.proc.Name, lines[len(lines)-1])
	}
	return err
}

// The files of Nebula below its private /run.
const (
	configFile      = "nebula.yml"
	authorityFile   = "ca.crt"
	certificateFile = "host.crt"
	privateFile     = "host.key"
)

// config is what Nebula is told on one host.
type config struct {
	cipher string
	mtu    int
	peer   netip.Addr     // the other host's address in the overlay
	at     netip.AddrPort // its address on the underlay
	behind []netip.Prefix // the subnets behind it
}

// text formats the configuration. There is no lighthouse: each host knows the other's address.
// tare installs the routes, as it does for every tunnel. Nebula's own firewall lets everything
// pass, but looks each packet up, as it always does. What is not set is Nebula's default.
func (c config) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, `pki: {ca: /run/%s, cert: /run/%s, key: /run/%s}
static_host_map: {"%s": ["%s"]}
lighthouse: {am_lighthouse: false, hosts: []}
listen: {host: 0.0.0.0, port: %d}
punchy: {punch: false, respond: false}
relay: {am_relay: false, use_relays: false}
cipher: %s
routines: 1
logging: {level: info, format: text, disable_timestamp: true}
firewall:
  outbound: [{port: any, proto: any, host: any, local_cidr: any}]
  inbound: [{port: any, proto: any, host: any, local_cidr: any}]
tun:
  dev: %s
  mtu: %d
  unsafe_routes:
`, authorityFile, certificateFile, privateFile, c.peer, c.at, port, c.cipher, device, c.mtu)
	for _, p := range c.behind {
		fmt.Fprintf(&b, "    - {route: \"%s\", via: \"%s\", install: false}\n", p, c.peer)
	}
	return b.String()
}
