package machines

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/process"
)

// servers are ssh servers in the namespaces of a lab's hosts, and the namespace from which they
// are reached, over devices of their own.
type servers struct {
	controller *linuxnet.NS
	devices    []string // of the controller, one for each server
	dir        string
	running    []*process.Process
}

const (
	serverProgram = "/usr/sbin/sshd"
	controlDevice = "ctl0"
	startTimeout  = 10 * time.Second
)

func startServers(ctx context.Context, l *lab.Lab) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "tare-bench-"); err != nil {
		return s, err
	}
	if err = os.MkdirAll("/run/sshd", 0o755); err != nil { // the server requires it
		return s, err
	}
	for _, name := range []string{"user", "host"} {
		if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.file(name)).CombinedOutput(); err != nil {
			return s, fmt.Errorf("make a key for ssh: %w: %s", err, out)
		}
	}
	if s.controller, err = linuxnet.NewNS("bench-controller"); err != nil {
		return s, err
	}
	config := "Host *\n IdentityFile " + s.file("user") + "\n IdentitiesOnly yes\n IdentityAgent none\n UserKnownHostsFile " + s.file("known_hosts") + "\n GlobalKnownHostsFile none\n User root\n"
	key, err := os.ReadFile(s.file("host.pub"))
	if err != nil {
		return s, err
	}
	known := ""
	for i, h := range []*lab.Host{l.A, l.B} {
		at, err := s.start(ctx, i, h.NS)
		if err != nil {
			return s, err
		}
		config = fmt.Sprintf("Host %s\n HostName %s\n", h.Name, at) + config
		known += fmt.Sprintf("%s %s", at, key)
	}
	if err := os.WriteFile(s.file("known_hosts"), []byte(known), 0o600); err != nil {
		return s, err
	}
	return s, os.WriteFile(s.file("ssh_config"), []byte(config), 0o600)
}

func (s *servers) file(name string) string { return filepath.Join(s.dir, name) }

// start starts server number i, and returns its address.
func (s *servers) start(ctx context.Context, i int, ns *linuxnet.NS) (netip.Addr, error) {
	near, far := netip.AddrFrom4([4]byte{198, 19, 253, byte(4*i + 1)}), netip.AddrFrom4([4]byte{198, 19, 253, byte(4*i + 2)})
	device := fmt.Sprintf("to%d", i)
	err := errors.Join(
		s.controller.Links().Veth(linuxnet.Device{Name: device}, ns, linuxnet.Device{Name: controlDevice}),
		s.controller.Routes().Address(device, netip.PrefixFrom(near, 30)), ns.Routes().Address(controlDevice, netip.PrefixFrom(far, 30)),
		s.controller.Links().Up(device), ns.Links().Up(controlDevice))
	if err != nil {
		return far, err
	}
	s.devices = append(s.devices, device)
	config := s.file(fmt.Sprintf("sshd_config%d", i))
	text := strings.Join([]string{
		"ListenAddress " + far.String(), "HostKey " + s.file("host"), "AuthorizedKeysFile " + s.file("user.pub"), "StrictModes no", "UsePAM no",
		"PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin yes", "PrintMotd no", "UseDNS no", "PidFile none", "",
	}, "\n")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return far, err
	}
	p := process.New("the ssh server of host "+fmt.Sprint(i), serverProgram, "-D", "-e", "-f", config)
	if err := p.StartTied(ns.Do); err != nil {
		return far, err
	}
	s.running = append(s.running, p)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return far, p.WaitFor(ctx, func() (bool, error) { return strings.Contains(p.StderrTail(), "Server listening on"), nil })
}

// options are those with which the servers are reached.
func (s *servers) options() machine.Options {
	return machine.Options{Config: s.file("ssh_config"), Start: s.controller.Start}
}

// carried is the number of bytes that the control devices have carried in both directions.
func (s *servers) carried() (sum uint64, err error) {
	for _, d := range s.devices {
		one, err := s.controller.Links().Stats(d)
		if err != nil {
			return 0, err
		}
		sum += one.TxBytes + one.RxBytes
	}
	return sum, nil
}

func (s *servers) close() error {
	var errs []error
	for _, p := range s.running {
		errs = append(errs, p.Kill())
	}
	if s.controller != nil {
		errs = append(errs, s.controller.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
