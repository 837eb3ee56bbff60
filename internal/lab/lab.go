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

// Up creates a lab. On error nothing of it is left.
func Up(spec Spec) (*Lab, error) {
	l := &Lab{Spec: spec, IPv6: SupportsIPv6() && (spec.Link == nil || spec.Link.IPv6), names: map[*linuxnet.NS]string{}}
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
	l.A = &Host{Name: SideA, NS: a, Underlay: Underlay}
	l.B = &Host{Name: SideB, NS: b, Underlay: Underlay}
	if err := l.connect(); err != nil {
		return err
	}
	for i, h := range []*Host{l.A, l.B} {
		if err := l.SetUpDevice(h.NS, Underlay); err != nil {
			return err
		}
		for _, p := range l.Addresses(NetUnderlay, i+1) {
			if err := h.NS.Routes().Address(Underlay, p); err != nil {
				return err
			}
			h.Addr = append(h.Addr, p.Addr())
		}
		if l.Spec.Rate == 0 {
			continue
		}
		if err := h.NS.Tuning().Limit(Underlay, l.Spec.Rate, l.Spec.MTU); err != nil {
			return err
		}
	}
	return l.introduce()
}

// connect creates the underlay between the two hosts.
func (l *Lab) connect() error {
	if l.Split() {
		return l.connectHalf()
	}
	dev := l.Device(Underlay, l.Spec.MTU)
	return l.A.NS.Links().Veth(dev, l.B.NS, dev)
}

// Namespace creates another namespace of this lab, with the settings that all sandboxes
// share.
func (l *Lab) Namespace(name string) (*linuxnet.NS, error) {
	label := strings.ReplaceAll(l.Spec.Label, "/", ".")
	if l.Split() {
		label += "." + l.Spec.Link.Side
	}
	full := strings.Join([]string{Prefix + l.Spec.Claim.ID, label, name}, "-")
	ns, err := l.create(full)
	if err != nil {
		return nil, err
	}
	l.spaces = append(l.spaces, ns)
	l.names[ns] = name
	if err := l.Prepare(ns); err != nil {
		return nil, err
	}
	return ns, ns.Tuning().Segmentation("lo", l.Spec.Offload)
}

func (l *Lab) create(name string) (*linuxnet.NS, error) {
	if l.Spec.Pin {
		return linuxnet.NewPinnedNS(name, Prefix+l.Spec.Claim.ID)
	}
	return linuxnet.NewNS(name)
}

// Prepare gives a namespace the settings that all namespaces of this lab share, where the lab has not
// created it.
func (l *Lab) Prepare(ns *linuxnet.NS) error {
	for _, s := range l.Settings() {
		if err := ns.Sysctl(s[0], s[1]); err != nil {
			return err
		}
	}
	// Bridged frames are not passed to the IP hooks: whether br_netfilter happens to be
	// loaded must not change the cost of a bridge.
	for _, name := range []string{"net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables"} {
		if _, err := ns.ReadSysctl(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := ns.Sysctl(name, "0"); err != nil {
			return err
		}
	}
	return nil
}

// Device describes a link of this lab, tagged with the run's id.
func (l *Lab) Device(name string, mtu int) linuxnet.Device {
	return linuxnet.Device{Name: name, MTU: mtu, Alias: Prefix + l.Spec.Claim.ID}
}

// SetUpDevice applies the lab's offload settings to a link and sets it up. In a split lab it
// also gives the link the MAC address that the other machine expects.
func (l *Lab) SetUpDevice(ns *linuxnet.NS, name string) error {
	if l.Split() {
		if err := ns.Links().SetHardwareAddr(name, l.Spec.Link.mac(l.names[ns], name)); err != nil {
			return err
		}
	}
	if err := ns.Tuning().Segmentation(name, l.Spec.Offload); err != nil {
		return err
	}
	return ns.Links().Up(name)
}

// Close removes the lab: its namespaces and everything inside them. The agents must have
// exited. It may be called again.
func (l *Lab) Close() error {
	errs := []error{l.detach()}
	for i := len(l.spaces) - 1; i >= 0; i-- {
		errs = append(errs, l.spaces[i].Close())
	}
	return errors.Join(errs...)
}

// SupportsIPv6 reports whether the kernel of this machine has IPv6.
func SupportsIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6/conf/default/accept_ra")
	return err == nil
}
