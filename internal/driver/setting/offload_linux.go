package setting

import (
	"fmt"
	"slices"
	"strconv"

	"tare/internal/driver"
	"tare/internal/linuxnet"
)

// featuresOf returns the kernel's names of the features that a setting switches.
func featuresOf(setting, value string) []string {
	tso := []string{"tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation", "tx-tcp6-segmentation"}
	switch {
	case setting == nameTSO:
		return tso
	case setting == nameGSO && value == off:
		// Since Linux 4.17 TCP makes packets above the MTU whatever this feature says: only
		// the device's own segmentation decides whether they cross it.
		return append(tso, "tx-generic-segmentation", "tx-udp-segmentation")
	case setting == nameGSO:
		return []string{"tx-generic-segmentation"}
	case setting == nameChecksum:
		return []string{"tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6", "rx-checksum"}
	default:
		return []string{"rx-gro"}
	}
}

// offloads applies what devices do for the kernel, and proves it by the packets that they send and receive.
type offloads struct{ *application }

// tso switches the segmentation of TCP packets by the devices.
func (a offloads) tso(value string) error { return a.segmentation(nameTSO, value) }

// gso switches all segmentation off, or that of the kernel on.
func (a offloads) gso(value string) error { return a.segmentation(nameGSO, value) }

// checksum switches checksum offloads. Without them the kernel allows no segmentation by a
// device.
func (a offloads) checksum(value string) error { return a.segmentation(nameChecksum, value) }

// segmentation switches features without which packets above the MTU cannot cross a device.
func (a offloads) segmentation(setting, value string) error {
	done, err := a.features(setting, value)
	if err != nil {
		return err
	}
	text := readBackOnly
	if value == off {
		text, err = a.proveSmall(func(w place, dev string) (uint64, error) {
			stats, err := w.ns.Links().Stats(dev)
			return uint64(stats.MTU), err
		}, "the packets sent, none above the MTU")
	}
	a.fact(setting, value, done, text)
	return err
}

// proveSmall requires as many sent packets as a stream takes if none is above size.
func (a offloads) proveSmall(size func(w place, dev string) (uint64, error), what string) (string, error) {
	n, err := a.prove(proof{
		counter: "tx_packets", transmit: true, pick: isLink, stream: true, size: size,
		read: func(w place, dev string) (uint64, error) {
			stats, err := w.ns.Links().Stats(dev)
			return stats.TxPackets, err
		},
	})
	return provenBy(n, what), err
}

// gro switches generic receive offload of all devices. On a veth it also switches NAPI on,
// and the driver then counts the packets that NAPI received. A veth passes packets to NAPI
// only if its peer has TSO off: others have nothing left to merge.
func (a offloads) gro(value string) error {
	if value == on {
		if err := a.checkTSO(); err != nil {
			return err
		}
	}
	done, err := a.features(nameGRO, value)
	if err != nil {
		return err
	}
	n, err := 0, error(nil)
	if value == on {
		n, err = a.prove(proof{counter: "napi_packets", pick: isVeth, size: fixed(maxPacket), read: napiPackets})
	}
	a.fact(nameGRO, value, done, provenBy(n, "the packets that NAPI received"))
	return err
}

// maxPacket is more than any packet on a device has, in bytes: the largest with BIG TCP.
const maxPacket = 512 << 10

// napiPackets adds up what the queues of a veth received by NAPI. The driver names that
// counter after XDP, whether or not a program is attached.
func napiPackets(w place, dev string) (sum uint64, err error) {
	stats, err := w.ns.Tuning().DriverStats([]string{dev})
	for i := range len(stats[dev]) {
		sum += stats[dev][fmt.Sprintf("rx_queue_%d_xdp_packets", i)]
	}
	return sum, err
}

// checkTSO returns an error if a veth has TSO on, which makes GRO have no effect.
func (a offloads) checkTSO() error {
	_, err := a.devices(isVeth, func(w place, dev string) error {
		have, err := w.ns.Tuning().Features([]string{dev})
		if err == nil && slices.ContainsFunc(featuresOf(nameTSO, off), func(f string) bool { return have[dev][f] }) {
			err = a.unsupported(nameGRO, on, "it has no effect on a veth whose peer has TSO on, as %s in %s has; add tso: off", dev, w.At)
		}
		return err
	})
	return err
}

// features switches features of every device and has them read back. Features that no
// device of a kind has are ignored; those of a bridge follow from its ports.
func (a offloads) features(setting, value string) (done []string, err error) {
	set := value == on
	expected := map[string]map[string]string{} // by place, and by device and feature
	done, err = a.devices(every, func(w place, dev string) error {
		have, err := w.ns.Tuning().Features([]string{dev})
		if err != nil {
			return err
		}
		want := map[string]bool{}
		for _, name := range featuresOf(setting, value) {
			if _, known := have[dev][name]; known && (have[dev][name] || offers(w, dev, name)) {
				want[name] = set
			}
		}
		if expected[w.At] == nil {
			expected[w.At] = map[string]string{}
		}
		for name := range want {
			if !isBridge(w, dev) {
				expected[w.At][dev+" "+name] = asSwitch(set)
			}
		}
		return w.ns.Tuning().SetFeatures(dev, want)
	})
	for _, w := range a.places {
		if want := expected[w.At]; len(want) > 0 {
			a.readBack(setting, w, want, func() (map[string]string, error) { return readFeatures(w) })
		}
	}
	return done, err
}

func readFeatures(w place) (map[string]string, error) {
	have, err := w.ns.Tuning().Features(w.devices)
	got := map[string]string{}
	for dev, features := range have {
		for name, set := range features {
			got[dev+" "+name] = asSwitch(set)
		}
	}
	return got, err
}

func asSwitch(set bool) string {
	if set {
		return on
	}
	return off
}

// offers reports whether a device can have a feature that it has switched off.
func offers(w place, dev, feature string) bool {
	can, err := w.ns.Tuning().ChangeableFeatures(dev)
	return err == nil && slices.Contains(can, feature)
}

// packetSize sets the maximum packet of all devices. Above 65536 bytes it is BIG TCP, which
// a counter of larger packets at their receivers proves; at most that, the number of packets.
func (a offloads) packetSize(value string) error {
	size, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	done, err := a.devices(every, func(w place, dev string) error { return w.ns.Tuning().SetPacketSizes(dev, size) })
	if err != nil {
		return err
	}
	want := fmt.Sprint(linuxnet.PacketSizes{GSO: size, GSOIPv4: size, GRO: size, GROIPv4: size})
	a.readDevices(nameGSOMaxSize, want, every, func(w place, dev string) (string, error) {
		s, err := w.ns.Tuning().PacketSizes(dev)
		return fmt.Sprint(s), err
	})
	var text string
	if size > bigPacket {
		text, err = a.proveLarge()
	} else {
		text, err = a.proveSmall(fixed(uint64(size)), fmt.Sprintf("the packets sent, none above %d bytes", size))
	}
	a.fact(nameGSOMaxSize, value, done, text)
	return err
}

const (
	// bigPacket is the maximum packet without BIG TCP, in bytes.
	bigPacket = 65536
	// largeEach is the part of a stream, in bytes, for which at least one packet above
	// bigPacket is required. A stream fills thousands of them.
	largeEach  = 64 << 20
	largeTable = "tare-big-tcp"
)

// proveLarge counts the packets above 65536 bytes that arrive at the host of the receiver.
func (a offloads) proveLarge() (string, error) {
	pair := a.path.Pairs()[0]
	receivers := map[string]bool{}
	for _, r := range a.path.DeviceRules() {
		e, _ := inEffect(r.Rule.Expect, true)
		w, ok := a.placeAt(r.At)
		to := map[driver.Expect]string{driver.ForwardStream: pair.Server.Host, driver.ReverseStream: pair.Client.Host}[e]
		object := w.At + "/" + r.Device.Name
		if !ok || r.Transmit || r.At.Host != to || !isVeth(w, r.Device.Name) || receivers[object] {
			continue
		}
		receivers[object] = true
		if err := w.ns.Rules().CountLargerThan(largeTable+"-"+r.Device.Name, r.Device.Name, bigPacket); err != nil {
			return "", err
		}
	}
	n, err := a.prove(proof{
		counter: "large_packets", stream: true, size: fixed(largeEach),
		pick: func(w place, dev string) bool { return receivers[w.At+"/"+dev] },
		read: func(w place, dev string) (uint64, error) {
			counts, err := w.ns.Rules().IngressCounts(largeTable + "-" + dev)
			return counts[linuxnet.CountLarge].Packets, err
		},
	})
	return provenBy(n, "the packets received above 65536 bytes"), err
}
