//go:build linux

package cli

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
)

// An MTU that the underlay or the mode's software cannot carry is an error of the study, with its line,
// before anything is built. A mode that takes an MTU has its largest one here, 0 for one that none bounds.
func TestMTUsBeforeSetUp(t *testing.T) {
	t.Parallel()
	largest := map[string]int{ // on an underlay of 1500
		"netns/vxlan": 1450, "ovs/flat": 1500, "ovs/vxlan": 1450, "ovs/geneve": 1450,
		"ovs/flat-netdev": 1500, "ovs/vxlan-netdev": 1450, "ovs/geneve-netdev": 1450, "ovn/logical": 1442,
		"wireguard/kernel": 1440, "wireguard/userspace": 1440, "ipsec/kernel": 1435, "ipsec/userspace": 1400, "mesh/nebula": 1440,
		"docker/overlay": 1450, "docker/overlay-encrypted": 1424,
	}
	takes := map[string]bool{}
	catalog := catalogOf(nil)
	for _, m := range catalog.Modes {
		if !m.MTU {
			continue
		}
		takes[m.ID] = true
		most, bounded := largest[m.ID]
		if !bounded {
			must.True(t, strings.HasPrefix(m.ID, "rootless/") || strings.HasPrefix(m.ID, "docker/rootless"), "%s takes an MTU, and its largest is not in this test", m.ID)
			continue
		}
		text := func(mtu, lab int) []byte {
			return fmt.Appendf(nil, "lab: {mtu: %d}\nworkloads: [tcp_rr]\nmodes:\n  - host\n  - mode: %s\n    mtu: %d\n", lab, m.ID, mtu)
		}
		_, err := studyfile.Decode("s.yaml", text(most, 1500), catalog)
		must.Do(t, err)
		_, err = studyfile.Decode("s.yaml", text(most+1, 1500), catalog)
		must.FailFor(t, m.ID, err, fmt.Sprintf("s.yaml:6: mtu is %d", most+1), m.ID, fmt.Sprintf("want at most %d", most))
		if m.MaxMTU == 0 { // a larger underlay carries more
			_, err = studyfile.Decode("s.yaml", text(most+1, 1501), catalog)
			must.Do(t, err)
		}
	}
	for id := range largest {
		must.EqualFor(t, id+" takes an MTU", true, takes[id])
	}
}
