package link

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"tare/internal/linuxnet/here"
	"tare/internal/testkit/must"
)

func at[T any](v T) *T { return &v }

// server is a machine whose link is a VLAN on a bond of two cards.
func server(name string) (here.LinkDetails, error) {
	why := map[string]string{"speed": "the driver does not tell", "rings": "the driver does not tell", "channels": "the driver does not tell", "coalescing": "the driver does not tell",
		"pause": "the driver does not tell", "rss": "the driver does not tell"}
	card := here.LinkDetails{
		Index: 2, Kind: "device", MAC: "3c:fd:fe:00:00:01", MTU: 9000, Bus: "pci", BusDevice: "0000:3b:00.0", Qdisc: "mq", Promisc: 1,
		Driver: "ice", DriverVersion: "6.12.4", Firmware: "4.40 0x8001", Speed: at(uint32(100000)), FullDuplex: at(true),
		Features: map[string]bool{"tx-tcp-segmentation": true, "rx-gro": true, "rx-lro": false, "tx-checksum-ipv4": true, "rx-vlan-filter": true},
		Rings:    &here.Rings{Rx: 2048, Tx: 256, MaxRx: 8160, MaxTx: 8160}, Channels: &here.Channels{Combined: 16, MaxCombined: 64, MaxRx: 64},
		Coalesce: &here.Coalesce{RxMicroseconds: 50, AdaptiveRx: true, TxMicroseconds: 50, StatsMicroseconds: 1000000},
		Pause:    &here.Pause{Autonegotiated: true, Rx: true}, RSS: &here.RSS{Table: 512, Queues: 16, UDPPorts: at(false)},
	}
	switch name {
	case "bond0.7":
		return here.LinkDetails{Name: name, Index: 5, Kind: "vlan", MTU: 1500, Lower: []string{"bond0"}, Qdisc: "noqueue", Unknown: why}, nil
	case "bond0":
		return here.LinkDetails{Name: name, Index: 4, Kind: "bond", MTU: 9000, Lower: []string{"ens1", "ens2"}, Unknown: why}, nil
	case "ens1":
		card.Name = name
		return card, nil
	case "tun0":
		return here.LinkDetails{Name: name, Index: 9, Kind: "macvlan", MAC: "02:00:00:00:00:01", MTU: 1500, Elsewhere: true, Unknown: map[string]string{"qdisc": "refused"}}, nil
	case "eth0":
		return here.LinkDetails{Name: name, Index: 3, Kind: "device", MAC: "02:00:00:00:00:02", MTU: 1460, Bus: "virtio", BusDevice: "virtio2", Driver: "virtio_net", Unknown: why, Qdisc: "fq"}, nil
	}
	return here.LinkDetails{}, errors.New("no such device")
}

// files are what sysfs and procfs of that machine have.
func files() fs.FS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	return fstest.MapFS{
		"sys/class/net/ens1/ifindex":                         file("2"),
		"sys/class/net/ens1/address":                         file("3c:fd:fe:00:00:01"),
		"sys/class/net/ens1/threaded":                        file("1"),
		"sys/class/net/ens1/queues/rx-0/rps_cpus":            file("00000000,0000000f"),
		"sys/class/net/ens1/queues/rx-1/rps_cpus":            file("00000000,00000000"),
		"sys/class/net/ens1/queues/tx-0/xps_cpus":            file("00000000,00000001"),
		"sys/class/net/ens1/queues/tx-1/xps_cpus":            file("00000000,00000002"),
		"sys/class/net/tun0/ifindex":                         file("9"),
		"sys/class/net/tun0/address":                         file("52:54:00:00:00:99"), // another device with the same index
		"sys/bus/pci/devices/0000:3b:00.0/numa_node":         file("1"),
		"sys/bus/pci/devices/0000:3b:00.0/msi_irqs/120":      file("msix"),
		"sys/bus/pci/devices/0000:3b:00.0/msi_irqs/121":      file("msix"),
		"proc/irq/120/effective_affinity_list":               file("4"),
		"proc/irq/121/smp_affinity_list":                     file("0-7"),
		"sys/bus/virtio/devices/virtio2":                     {Data: []byte("../../../devices/pci0000:00/0000:00:03.0/virtio2"), Mode: fs.ModeSymlink},
		"sys/devices/pci0000:00/0000:00:03.0/virtio2/device": file("0x0001"),
		"sys/devices/pci0000:00/0000:00:03.0/numa_node":      file("0"),
		"proc/interrupts":                                    file(" CPU0 CPU1\n 24: 5 0 PCI-MSIX-0000:00:03.0 0-edge virtio2-config\n 25: 9 9 PCI-MSIX-0000:00:03.0 1-edge virtio2-input.0\n 26: 0 0 PCI-MSIX 0-edge virtio21-input.0\nNMI: 0 0 Non-maskable interrupts"),
	}
}

func text(device string) string {
	var out strings.Builder
	for _, f := range collect(files(), device, server) {
		fmt.Fprintf(&out, "%s: %s\n", f.Name, f.Value)
	}
	return out.String()
}

// The facts are those of the device and of the card below it; what is unknown has a reason.
func TestCollect(t *testing.T) {
	for device, want := range map[string]string{
		"bond0.7": `link_device: bond0.7
link_kind: vlan
link_below: bond0 (bond) on ens1 and ens2 (described: ens1, physical)
link_mtu: 1500
link_qdisc: noqueue
link_promiscuous: yes
link_card: ens1, physical
link_driver: ice 6.12.4
link_firmware: 4.40 0x8001
link_bus: pci 0000:3b:00.0
link_speed: 100000 Mbit/s
link_duplex: full
link_offloads: gro tso tx-checksum
link_rings: receive 2048 of 8160, send 256 of 8160
link_channels: combined 16 of 64, receive 0 of 64
link_coalescing: receive 50 µs or 0 packets (adaptive), send 50 µs or 0 packets
link_pause: obeyed yes, sent no, negotiated yes
link_rss: 512 entries for 16 queues, UDP by addresses only
link_steering: RPS f, XPS 1 2, threaded NAPI
link_numa_node: 1
link_irqs: 120 on CPU 4, 121 on CPU 0-7
link_counters_updated: every 1000000 µs
`,
		"eth0": `link_device: eth0
link_kind: virtio
link_below: none
link_mtu: 1460
link_qdisc: fq
link_promiscuous: no
link_card: eth0, virtio
link_driver: virtio_net
link_firmware: none
link_bus: virtio virtio2
link_speed: unknown: the driver does not tell
link_duplex: unknown: the driver does not tell
link_offloads: unknown: the kernel does not tell
link_rings: unknown: the driver does not tell
link_channels: unknown: the driver does not tell
link_coalescing: unknown: the driver does not tell
link_pause: unknown: the driver does not tell
link_rss: unknown: the driver does not tell
link_steering: unknown: /sys shows the devices of another network namespace
link_numa_node: 0
link_irqs: 24 on CPU ?, 25 on CPU ?
link_counters_updated: unknown: the driver does not tell
`,
	} {
		must.EqualFor(t, device, want, text(device))
	}
	elsewhere := text("tun0")
	must.Contain(t, elsewhere, "link_below: a device of another network namespace\n", "link_qdisc: unknown: refused\n", "link_steering: unknown: /sys shows")
	gone := collect(files(), "none", server)
	must.True(t, len(gone) == len(Names()) && gone[0].Value == "none", "of a device that is gone: %v", gone)
	for i, f := range gone {
		if f.Name != Names()[i] || i > 0 && f.Value != "unknown: no such device" {
			t.Errorf("of a device that is gone: %v", f)
		}
	}
}

// Devices that refer to each other in a circle end.
func TestStackBelowEnds(t *testing.T) {
	facts := collect(files(), "x", func(name string) (here.LinkDetails, error) {
		return here.LinkDetails{Name: name, Kind: "bridge", Lower: []string{name}}, nil
	})
	must.EqualFor(t, facts[2].Value, maxBelow-1, strings.Count(facts[2].Value, " on "))
}

// An interrupt belongs to a device by its name, not by a longer one.
func TestBelongs(t *testing.T) {
	for word, want := range map[string]bool{
		"eth0": true, "eth0-rx-0": true, "i40e-eth0-TxRx-3": true, "mlx5_comp1@pci:eth0": true, "eth01": false, "veth0": false, "eth0_x": false, "": false,
	} {
		must.EqualFor(t, word, want, belongs(word, "eth0"))
	}
	must.True(t, !belongs("eth0", ""), "a device without a name has interrupts")
}

// FuzzInterrupts checks that the interrupts found are lines of the table with a part of the
// device's name.
func FuzzInterrupts(f *testing.F) {
	f.Add("24: 5 0 PCI-MSI 1-edge eth0-rx-0\n 25: 1 eth1\nNMI: 3", "eth0")
	f.Add("1:\n:\n-5: eth0\n99999999999999999999: eth0", "eth0")
	f.Fuzz(func(t *testing.T, table, device string) {
		for _, n := range named(table, device, "") {
			must.Require(t, device != "" && strings.Contains(table, device), "interrupt %d of %q is not in %q", n, device, table)
		}
	})
}
