package setting

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tare/internal/driver"
)

// The kernel's names of offload features.
const featureGRO = "rx-gro"

// tsoFeatures are the features that ethtool -K DEVICE tso changes.
func tsoFeatures() []string {
	return []string{"tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation", "tx-tcp6-segmentation"}
}

// tso switches the segmentation of TCP packets by the devices.
func (a *application) tso(value string) error {
	want := map[string]bool{}
	for _, name := range tsoFeatures() {
		want[name] = value == on
	}
	if err := a.features(nameTSO, want); err != nil {
		return err
	}
	a.fact(nameTSO, value, a.where(), readBackOnly)
	return nil
}

// maxPacket is more than any packet on a device has, in bytes: the largest with BIG TCP.
const maxPacket = 512 << 10

// gro switches generic receive offload of all devices. On a veth it also switches NAPI on,
// and the driver then counts the packets that NAPI received. A veth passes packets to NAPI
// only if its peer has TSO off: others have nothing left to merge.
func (a *application) gro(value string) error {
	if value == on {
		if err := a.checkTSO(); err != nil {
			return err
		}
	}
	want := map[string]bool{featureGRO: value == on}
	if err := a.features(nameGRO, want); err != nil {
		return err
	}
	proof := a.napiCounters(value == on)
	a.fact(nameGRO, value, a.where(), proof)
	return nil
}

// checkTSO returns an error if a veth has TSO on, which makes GRO have no effect.
func (a *application) checkTSO() error {
	for _, w := range a.places {
		have, err := w.ns.Features(w.devices)
		if err != nil {
			return err
		}
		for dev, features := range have {
			if w.kinds[dev] == "veth" && slices.ContainsFunc(tsoFeatures(), func(f string) bool { return features[f] }) {
				return a.unsupported(nameGRO, on, "it has no effect on a veth whose peer has TSO on, as %s in %s has; add tso: off", dev, w.At)
			}
		}
	}
	return nil
}

// features switches features of every device and has them read back.
func (a *application) features(setting string, want map[string]bool) error {
	for _, w := range a.places {
		expected := map[string]string{}
		for _, dev := range w.devices {
			if err := w.ns.SetFeatures(dev, want); err != nil {
				return err
			}
			for name, set := range want {
				expected[dev+" "+name] = asSwitch(set)
			}
		}
		a.readBack(setting, w, expected, func() (map[string]string, error) {
			have, err := w.ns.Features(w.devices)
			got := map[string]string{}
			for dev, features := range have {
				for name, set := range features {
					got[dev+" "+name] = asSwitch(set)
				}
			}
			return got, err
		})
	}
	return nil
}

func asSwitch(set bool) string {
	if set {
		return on
	}
	return off
}

// where lists the devices to which settings of devices apply.
func (a *application) where() (devices []string) {
	for _, w := range a.places {
		for _, dev := range w.devices {
			devices = append(devices, w.At+"/"+dev)
		}
	}
	return devices
}

// napiPackets is the counter of the packets that a veth received by NAPI.
const napiPackets = "napi_packets"

// napiCounters requires that the veths on the path receive their traffic by NAPI, or not. It
// returns what proves the setting.
func (a *application) napiCounters(napi bool) string {
	veths := 0
	for _, r := range a.path.DeviceRules() {
		w, ok := a.placeAt(r.At)
		if r.Transmit || !ok || w.kinds[r.Device.Name] != "veth" {
			continue
		}
		expect := driver.NoMatch
		if napi {
			if expect, ok = packetsOf(r.Rule.Expect); !ok {
				continue
			}
		}
		veths++
		counter := r.Counter(napiPackets)
		a.path.AddRules(driver.Rule{Counter: counter, Expect: expect, Pair: r.Rule.Pair, Size: maxPacket})
		a.path.AddReader(func(_ context.Context, into driver.Counters) error {
			stats, err := w.ns.DriverStats([]string{r.Device.Name})
			into[counter] = xdpPackets(stats[r.Device.Name])
			return err
		})
	}
	if veths == 0 {
		return readBackOnly
	}
	return fmt.Sprintf("proven by the packets that %d veths received by NAPI", veths)
}

// xdpPackets adds up what the queues of a veth received by NAPI. The driver names that
// counter after XDP, whether or not a program is attached.
func xdpPackets(stats map[string]uint64) (sum uint64) {
	for name, n := range stats {
		if strings.HasPrefix(name, "rx_queue_") && strings.HasSuffix(name, "_xdp_packets") {
			sum += n
		}
	}
	return sum
}

// packetsOf returns the expectation on packets that belongs to one on bytes.
func packetsOf(e driver.Expect) (driver.Expect, bool) {
	switch e {
	case driver.Forward, driver.ForwardAtLeast:
		return driver.ForwardPackets, true
	case driver.Reverse, driver.ReverseAtLeast:
		return driver.ReversePackets, true
	case driver.Both, driver.BothAtLeast:
		return driver.BothPackets, true
	}
	return 0, false
}
