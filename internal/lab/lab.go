//go:build linux

package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tare/internal/linuxnet"
)

// Up makes a lab. On error nothing of it is left.
func Up(spec Spec) (*Lab, error) {
	l := &Lab{Spec: spec, IPv6: hasIPv6()}
	if err := l.build(); err != nil {
		return nil, errors.Join(fmt.Errorf("set up lab for %s: %w", spec.Label, err), l.Close())
	}
	return l, nil
}

func (l *Lab) build() error {
	a, err := l.Namespace("a")
	if err != nil {
		return err
	}
	b, err := l.Namespace("b")
	if err != nil {
		return err
	}
	dev := l.Device(Underlay, l.Spec.MTU)
	if err := a.Veth(dev, b, dev); err != nil {
		return err
	}
	l.A = &Host{Name: "a", NS: a, Underlay: Underlay}
	l.B = &Host{Name: "b", NS: b, Underlay: Underlay}
	for i, h := range []*Host{l.A, l.B} {
		if err := l.SetUpDevice(h.NS, Underlay); err != nil {
			return err
		}
		for _, p := range l.Addresses(NetUnderlay, i+1) {
			if err := h.NS.Address(Underlay, p); err != nil {
				return err
			}
			h.Addr = append(h.Addr, p.Addr())
		}
		if l.Spec.Rate == 0 {
			continue
		}
		if err := h.NS.Limit(Underlay, l.Spec.Rate, l.Spec.MTU); err != nil {
			return err
		}
	}
	return nil
}

// Namespace makes one more namespace of this lab, with the settings that all
// sandboxes share.
func (l *Lab) Namespace(name string) (*linuxnet.NS, error) {
	full := strings.Join([]string{Prefix + l.Spec.Claim.ID, strings.ReplaceAll(l.Spec.Label, "/", "."), name}, "-")
	ns, err := linuxnet.NewNS(full, l.Spec.Pin)
	if err != nil {
		return nil, err
	}
	l.spaces = append(l.spaces, ns)
	for _, s := range l.Settings() {
		if err := ns.Sysctl(s[0], s[1]); err != nil {
			return nil, err
		}
	}
	// Where bridged frames can be handed to the IP hooks, they are not: whether
	// that module happens to be loaded must not decide what a bridge costs.
	for _, name := range []string{"net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables"} {
		if _, err := ns.ReadSysctl(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := ns.Sysctl(name, "0"); err != nil {
			return nil, err
		}
	}
	return ns, ns.Segmentation("lo", l.Spec.Offload)
}

// Settings are the sysctls that every sandbox of a lab gets, by their paths below
// /proc/sys, whatever the machine's own defaults, so that nothing but the path
// differs between modes. No metrics are kept: a connection must not learn from the
// one before it.
func (l *Lab) Settings() [][2]string {
	s := [][2]string{
		{"net/ipv4/tcp_no_metrics_save", "1"},
		// Tens of thousands of connections a second need all source ports there are,
		// again and again. TIME_WAIT itself stays as it is.
		{"net/ipv4/ip_local_port_range", "1024 65535"},
		{"net/ipv4/tcp_tw_reuse", "1"},
		{"net/ipv4/conf/all/rp_filter", "0"},
		{"net/ipv4/conf/default/rp_filter", "0"},
	}
	if l.IPv6 {
		s = append(s, [][2]string{
			{"net/ipv6/conf/all/disable_ipv6", "0"},
			{"net/ipv6/conf/default/disable_ipv6", "0"},
			{"net/ipv6/conf/default/accept_ra", "0"},
			{"net/ipv6/conf/default/autoconf", "0"},
			{"net/ipv6/conf/default/router_solicitations", "0"},
			// A router needs its link-local address to solicit neighbours, and at
			// once: there is nobody here to have the same one.
			{"net/ipv6/conf/all/accept_dad", "0"},
			{"net/ipv6/conf/default/accept_dad", "0"},
		}...)
	}
	// A port in TIME_WAIT is free again after a millisecond where the kernel lets
	// that be said (6.14); else after a second.
	const delay = "net/ipv4/tcp_tw_reuse_delay"
	if _, err := os.Stat("/proc/sys/" + delay); err == nil {
		s = append(s, [2]string{delay, "1"})
	}
	return s
}

// Device describes a link of this lab, marked with the run's id.
func (l *Lab) Device(name string, mtu int) linuxnet.Device {
	return linuxnet.Device{Name: name, MTU: mtu, Alias: Prefix + l.Spec.Claim.ID}
}

// SetUpDevice gives a link the lab's offload settings and sets it up.
func (l *Lab) SetUpDevice(ns *linuxnet.NS, name string) error {
	if err := ns.Segmentation(name, l.Spec.Offload); err != nil {
		return err
	}
	return ns.Up(name)
}

// Close takes the lab down: its namespaces, and with them all that is inside.
// Agents must have ended. Calling it again is fine.
func (l *Lab) Close() error {
	var errs []error
	for i := len(l.spaces) - 1; i >= 0; i-- {
		errs = append(errs, l.spaces[i].Close())
	}
	return errors.Join(errs...)
}

func hasIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6/conf/default/accept_ra")
	return err == nil
}
