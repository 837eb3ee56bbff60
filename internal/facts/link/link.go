// Package link describes the device by which a host reaches another one: the device itself,
// the network card below it, and how the kernel distributes the work of that card over CPUs.
//
// A part that cannot be read is "unknown: reason", never empty or 0. A part that a device
// does not have is "none". Nothing is changed.
package link

import (
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"

	"tare/internal/linuxnet/here"
	"tare/internal/result"
	"tare/internal/unit"
)

// The names of the facts, in the order in which Collect returns them.
const (
	Device      = "link_device"
	Kind        = "link_kind"
	Below       = "link_below"
	MTU         = "link_mtu"
	Qdisc       = "link_qdisc"
	Promiscuous = "link_promiscuous"
	Card        = "link_card"
	Driver      = "link_driver"
	Firmware    = "link_firmware"
	Bus         = "link_bus"
	Speed       = "link_speed"
	Duplex      = "link_duplex"
	Offloads    = "link_offloads"
	Rings       = "link_rings"
	Channels    = "link_channels"
	Coalescing  = "link_coalescing"
	Pause       = "link_pause"
	RSS         = "link_rss"
	Steering    = "link_steering"
	NUMANode    = "link_numa_node"
	IRQs        = "link_irqs"
	Counters    = "link_counters_updated"
)

// Names lists the names of all facts.
func Names() []string {
	return []string{Device, Kind, Below, MTU, Qdisc, Promiscuous, Card, Driver, Firmware, Bus, Speed, Duplex, Offloads, Rings, Channels, Coalescing,
		Pause, RSS, Steering, NUMANode, IRQs, Counters}
}

// maxBelow bounds how many devices below each other are followed.
const maxBelow = 8

// Toward describes the device of this process's network namespace by which packets to an
// address leave, and returns its name; empty if it is unknown. It cannot fail; what cannot
// be read is unknown.
func Toward(addr netip.Addr) (device string, facts []result.Fact) {
	device, err := Route(addr)
	if err != nil {
		return "", allUnknown("", err.Error())
	}
	return device, Collect(device)
}

// Route returns the device of this process's network namespace by which packets to an
// address leave.
func Route(addr netip.Addr) (device string, err error) { return here.Route(addr) }

// Collect describes a device of the network namespace that this process is in. It cannot
// fail; what cannot be read is unknown.
func Collect(device string) []result.Fact {
	return collect(os.DirFS("/"), device, here.Details)
}

// allUnknown returns the facts of a device of which at most the name is known.
func allUnknown(device, why string) []result.Fact {
	var c collector
	for _, name := range Names() {
		c.add(name, unknown(why))
	}
	if device != "" {
		c.facts[0].Value = device
	}
	return c.facts
}

func collect(fsys fs.FS, device string, read func(string) (here.LinkDetails, error)) []result.Fact {
	top, err := read(device)
	if err != nil {
		return allUnknown(device, err.Error())
	}
	var c collector
	below, card := stackBelow(top, read)
	c.add(Device, top.Name)
	c.add(Kind, kindOf(top))
	c.add(Below, below)
	c.add(MTU, fmt.Sprint(top.MTU))
	c.add(Qdisc, orUnknown(top.Qdisc, top, "qdisc"))
	c.add(Promiscuous, yesNo(top.Promisc > 0 || card.Promisc > 0))
	c.card(fsys, card)
	return c.facts
}

type collector struct{ facts []result.Fact }

func (c *collector) add(name, value string) {
	c.facts = append(c.facts, result.Fact{Name: name, Value: value})
}

// card adds the facts of the network card.
func (c *collector) card(fsys fs.FS, d here.LinkDetails) {
	c.add(Card, d.Name+", "+kindOf(d))
	c.add(Driver, orUnknown(strings.TrimSpace(d.Driver+" "+d.DriverVersion), d, "driver"))
	firmware := d.Firmware
	if firmware == "" || firmware == "N/A" {
		firmware = "none"
	}
	c.add(Firmware, orReason(firmware, d, "driver"))
	c.add(Bus, orNone(strings.TrimSpace(d.Bus+" "+d.BusDevice)))
	c.add(Speed, pointer(d, "speed", d.Speed, func(s uint32) string { return fmt.Sprintf("%d Mbit/s", s) }))
	c.add(Duplex, pointer(d, "speed", d.FullDuplex, func(full bool) string {
		if full {
			return "full"
		}
		return "half"
	}))
	if d.Features == nil {
		c.add(Offloads, unknown(d.Unknown["offloads"]))
	} else {
		c.add(Offloads, offloads(d.Features))
	}
	c.add(Rings, pointer(d, "rings", d.Rings, func(r here.Rings) string {
		return fmt.Sprintf("receive %d of %d, send %d of %d", r.Rx, r.MaxRx, r.Tx, r.MaxTx)
	}))
	c.add(Channels, pointer(d, "channels", d.Channels, channels))
	c.add(Coalescing, pointer(d, "coalescing", d.Coalesce, func(k here.Coalesce) string {
		return fmt.Sprintf("receive %d µs or %s%s, send %d µs or %s%s", k.RxMicroseconds, unit.Count(int(k.RxPackets), "packet", "packets"), adaptive(k.AdaptiveRx), k.TxMicroseconds, unit.Count(int(k.TxPackets), "packet", "packets"), adaptive(k.AdaptiveTx))
	}))
	c.add(Pause, pointer(d, "pause", d.Pause, func(p here.Pause) string {
		return fmt.Sprintf("obeyed %s, sent %s, negotiated %s", yesNo(p.Rx), yesNo(p.Tx), yesNo(p.Autonegotiated))
	}))
	c.add(RSS, pointer(d, "rss", d.RSS, func(r here.RSS) string {
		ports := "unknown whether UDP by ports"
		if r.UDPPorts != nil {
			ports = "UDP by addresses only"
			if *r.UDPPorts {
				ports = "UDP by addresses and ports"
			}
		}
		return fmt.Sprintf("%d entries for %s, %s", r.Table, unit.Count(r.Queues, "queue", "queues"), ports)
	}))
	c.add(Steering, steering(fsys, d))
	c.add(NUMANode, numaNode(fsys, d))
	c.add(IRQs, irqs(fsys, d))
	c.add(Counters, pointer(d, "coalescing", d.Coalesce, func(k here.Coalesce) string {
		if k.StatsMicroseconds == 0 {
			return unknown("the driver does not tell")
		}
		return fmt.Sprintf("every %d µs", k.StatsMicroseconds)
	}))
}

// stackBelow follows a device down to the network card: what is between them in words, and
// the card, which is the first member of several. Without a device below, the device is its
// own card.
func stackBelow(top here.LinkDetails, read func(string) (here.LinkDetails, error)) (below string, card here.LinkDetails) {
	card = top
	var parts []string
	for range maxBelow {
		if card.Elsewhere {
			parts = append(parts, "a device of another network namespace")
			break
		}
		if len(card.Lower) == 0 {
			break
		}
		members := card.Lower
		next, err := read(members[0])
		if err != nil {
			parts = append(parts, members[0]+" ("+unknown(err.Error())+")")
			break
		}
		text := next.Name + " (" + kindOf(next) + ")"
		if len(members) > 1 {
			text = strings.Join(members, " and ") + " (described: " + next.Name + ", " + kindOf(next) + ")"
		}
		parts, card = append(parts, text), next
	}
	return orNone(strings.Join(parts, " on ")), card
}

// paravirtual are the drivers of devices that a hypervisor emulates.
func paravirtual() map[string]string {
	return map[string]string{
		"virtio_net": "virtio", "vmxnet3": "VMware", "hv_netvsc": "Hyper-V", "ena": "AWS", "gve": "Google", "vif": "Xen", "xen_netfront": "Xen", "mana": "Azure",
	}
}

// kindOf returns what a device is.
func kindOf(d here.LinkDetails) string {
	switch by, virtual := paravirtual()[d.Driver]; {
	case d.Loopback:
		return "loopback"
	case d.Kind != "device" && d.Kind != "":
		return d.Kind
	case virtual:
		return by
	case d.Bus != "" || d.BusDevice != "":
		return "physical"
	}
	return "device without hardware"
}

// offloadNames are the offloads that decide the cost of a packet, by the kernel's names of
// their features: one of each list is enough.
func offloadNames() map[string][]string {
	return map[string][]string{
		"tso":         {"tx-tcp-segmentation"},
		"tso6":        {"tx-tcp6-segmentation"},
		"gso":         {"tx-generic-segmentation"},
		"gro":         {"rx-gro"},
		"gro-hw":      {"rx-gro-hw"},
		"gro-list":    {"rx-gro-list"},
		"lro":         {"rx-lro"},
		"rx-checksum": {"rx-checksum"},
		"tx-checksum": {"tx-checksum-ip-generic", "tx-checksum-ipv4"},
		"sg":          {"tx-scatter-gather"},
		"uso":         {"tx-udp-segmentation"},
		"udp-gro":     {"rx-udp-gro-forwarding"},
		"tunnel-tso":  {"tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation"},
		"esp":         {"esp-hw-offload"},
		"tls":         {"tls-hw-tx-offload"},
		"rxhash":      {"rx-hashing"},
		"ntuple":      {"rx-ntuple-filter"},
		"vlan-rx":     {"rx-vlan-hw-parse"},
		"vlan-tx":     {"tx-vlan-hw-insert"},
		"tc":          {"hw-tc-offload"},
		"gre-tso":     {"tx-gre-segmentation", "tx-gre-csum-segmentation"},
		"partial-gso": {"tx-gso-partial"},
		"tunnel-rx":   {"rx-udp_tunnel-port-offload"},
	}
}

// offloads lists the offloads that are on.
func offloads(features map[string]bool) string {
	var on []string
	for name, any := range offloadNames() {
		if slices.ContainsFunc(any, func(f string) bool { return features[f] }) {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	return orNone(strings.Join(on, " "))
}

// channels writes the numbers of queues: combined ones, and those of one direction if there
// can be any.
func channels(c here.Channels) string {
	var parts []string
	for _, q := range []struct {
		name     string
		now, max uint32
	}{{"combined", c.Combined, c.MaxCombined}, {"receive", c.Rx, c.MaxRx}, {"send", c.Tx, c.MaxTx}} {
		if q.now > 0 || q.max > 0 {
			parts = append(parts, fmt.Sprintf("%s %d of %d", q.name, q.now, q.max))
		}
	}
	return orNone(strings.Join(parts, ", "))
}

func adaptive(on bool) string {
	if on {
		return " (adaptive)"
	}
	return ""
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func unknown(why string) string {
	if why == "" {
		why = "the kernel does not tell"
	}
	return "unknown: " + why
}

// orUnknown returns a text, or why a part of a device is unknown if the text is empty.
func orUnknown(text string, d here.LinkDetails, part string) string {
	if text == "" {
		return unknown(d.Unknown[part])
	}
	return text
}

// orReason returns a text unless a part of a device is unknown.
func orReason(text string, d here.LinkDetails, part string) string {
	if why, missing := d.Unknown[part]; missing {
		return unknown(why)
	}
	return text
}

// pointer writes a part of a device that may be unknown.
func pointer[T any](d here.LinkDetails, part string, v *T, write func(T) string) string {
	if v == nil {
		return unknown(d.Unknown[part])
	}
	return write(*v)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
