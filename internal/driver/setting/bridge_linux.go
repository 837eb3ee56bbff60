package setting

import (
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
)

// bridgeTable is the nftables table with the counters of bridge_nf.
const bridgeTable = "tare-bridge-nf"

// bridgeHooks are the variables that pass bridged frames to the IP hooks. Kernels since 5.3
// have them by namespace.
func bridgeHooks() []string {
	return []string{driver.SysctlBridgeIPv4, "net/bridge/bridge-nf-call-ip6tables"}
}

// bridgeNF switches br_netfilter in the namespaces that have a bridge.
func (a *application) bridgeNF(value string) error {
	var bridges []string
	for _, w := range a.places {
		for _, dev := range w.devices {
			if w.kinds[dev] == "bridge" {
				if err := a.bridgeNFAt(w, dev, value == on); err != nil {
					return err
				}
				bridges = append(bridges, w.At+"/"+dev)
			}
		}
	}
	if len(bridges) == 0 {
		return a.unsupported(nameBridgeNF, value, "no namespace of the path has a bridge")
	}
	a.fact(nameBridgeNF, value, bridges, "proven by the packets that reached the IP prerouting hook from inside a bridge")
	return nil
}

func (a *application) bridgeNFAt(w place, bridge string, set bool) error {
	number := map[bool]string{true: "1", false: "0"}[set]
	want := map[string]string{}
	for _, name := range bridgeHooks() {
		if err := w.ns.Sysctl(name, number); err != nil {
			return fmt.Errorf("%w (needs br_netfilter)", err)
		}
		want[name] = number
	}
	a.readBack(nameBridgeNF, w, want, func() (map[string]string, error) { return w.ns.ReadSysctls(bridgeHooks()) })
	table := bridgeTable + "-" + bridge
	if err := w.ns.Rules().CountBridgedFrames(table, bridge); err != nil {
		return err
	}
	packets, bytes := pathspec.CounterName(w.At, bridge, "bridged_packets"), pathspec.CounterName(w.At, bridge, "bridged_bytes")
	a.readTable(w, table, func(counts map[string]linuxnet.Count, into driver.Counters) {
		into[packets], into[bytes] = counts[linuxnet.CountBridged].Packets, counts[linuxnet.CountBridged].Bytes
	})
	if !set {
		a.path.AddRules(driver.Rule{Counter: packets, Expect: driver.NoMatch})
		return nil
	}
	if e, known := a.entering(w, bridge); known {
		a.path.AddRules(driver.Rule{Counter: bytes, Expect: e})
	}
	return nil
}

// entering returns the directions of the traffic that enters a bridge from its ports, by the
// rules on what these receive.
func (a *application) entering(w place, bridge string) (driver.Expect, bool) {
	var seen []driver.Expect
	for _, r := range a.path.DeviceRules() {
		if r.At.Stack == w.Stack && !r.Transmit && w.masters[r.Device.Name] == bridge {
			seen = append(seen, r.Rule.Expect)
		}
	}
	has := func(of ...driver.Expect) bool {
		return slices.ContainsFunc(seen, func(e driver.Expect) bool { return slices.Contains(of, e) })
	}
	forward, reverse := has(driver.Forward, driver.ForwardAtLeast), has(driver.Reverse, driver.ReverseAtLeast)
	switch {
	case forward && reverse:
		return driver.Both, true
	case forward:
		return driver.Forward, true
	case reverse:
		return driver.Reverse, true
	}
	return 0, false
}
