//go:build linux

package linuxnet

import (
	"fmt"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
)

// Features reads the offload features of links, by device and by the kernel's name, such as
// "rx-gro".
func (ns *Tuning) Features(devices []string) (map[string]map[string]bool, error) {
	out := map[string]map[string]bool{}
	err := ns.withEthtool(func(e *ethtool.Ethtool) error {
		for _, name := range devices {
			have, err := e.Features(name)
			if err != nil {
				return fmt.Errorf("read offloads of %s in namespace %s: %w", name, ns.name, err)
			}
			out[name] = have
		}
		return nil
	})
	return out, err
}

// SetFeatures changes offload features of a link by the kernel's names. The kernel ignores
// those that the link cannot change: read them back.
func (ns *Tuning) SetFeatures(name string, want map[string]bool) error {
	return ns.withEthtool(func(e *ethtool.Ethtool) error {
		if err := e.Change(name, want); err != nil {
			return fmt.Errorf("switch offloads of %s in namespace %s: %w", name, ns.name, err)
		}
		return nil
	})
}

// DriverStats reads the counters that the drivers of links keep, as ethtool -S shows them, by
// device and by the driver's name.
func (ns *Tuning) DriverStats(devices []string) (map[string]map[string]uint64, error) {
	out := map[string]map[string]uint64{}
	err := ns.withEthtool(func(e *ethtool.Ethtool) error {
		for _, name := range devices {
			stats, err := e.Stats(name)
			if err != nil {
				return fmt.Errorf("read the driver's counters of %s in namespace %s: %w", name, ns.name, err)
			}
			out[name] = stats
		}
		return nil
	})
	return out, err
}

// Ports returns the names of the bridges, by the names of their ports.
func (ns *Links) Ports() (map[string]string, error) {
	var links []netlink.Link
	err := complete(func() (err error) {
		links, err = ns.handle.LinkList()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the devices of namespace %s: %w", ns.name, err)
	}
	names, out := map[int]string{}, map[string]string{}
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	for _, l := range links {
		if bridge, ok := names[l.Attrs().MasterIndex]; ok {
			out[l.Attrs().Name] = bridge
		}
	}
	return out, nil
}

// ChangeableFeatures lists the offload features of a link that can be switched.
func (ns *Tuning) ChangeableFeatures(name string) (features []string, err error) {
	err = ns.withEthtool(func(e *ethtool.Ethtool) error {
		states, err := e.FeaturesWithState(name)
		for feature, s := range states {
			if s.Available && !s.NeverChanged {
				features = append(features, feature)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read offloads of %s in namespace %s: %w", name, ns.name, err)
	}
	return features, nil
}
