package setting

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/driver"
)

// Candidate is a combination of settings that may make a mode faster.
type Candidate struct {
	With map[string]string
	// Permanent are the commands, as root, that make it permanent on a machine of one's own.
	// DEVICE stands for a device, or for a pattern such as veth*; MASK for a CPU mask in
	// hexadecimal; NAMESPACE for the name of a network namespace.
	Permanent []string
	// GivesUp is what one loses or has to look after.
	GivesUp string
}

// bigTCP is the maximum packet that Candidates tries with BIG TCP, in bytes.
const bigTCP = "196608"

// Candidates lists what could help a mode, as far as the mode accepts the settings. Whether
// it does on a given machine, a run tells.
func Candidates(m driver.Mode) []Candidate {
	var out []Candidate
	for _, c := range []struct {
		helps bool
		Candidate
	}{
		{bridgeFilterIsOn(m), bridgeNFOff()},
		{tracksWithoutTranslation(m), trackingOff()},
		{!isTunnel(m), Candidate{
			map[string]string{nameGSOMaxSize: bigTCP},
			[]string{udevRule(fmt.Sprintf("ip link set dev %%k gso_max_size %[1]s gso_ipv4_max_size %[1]s gro_max_size %[1]s gro_ipv4_max_size %[1]s", bigTCP))},
			"a programme that reads packets, such as a capture or an old filter, has to cope with packets above 64 KiB; it must be set inside the containers, too",
		}},
		{isTunnel(m), Candidate{
			map[string]string{nameGRO: off},
			[]string{udevRule("ethtool -K %k gro off")},
			"packets are no longer merged, which costs CPU time in bulk transfers",
		}},
		{true, Candidate{
			map[string]string{nameRPS: all},
			[]string{udevRule("/bin/sh -c 'echo MASK > /sys/class/net/%k/queues/rx-0/rps_cpus'")},
			"CPU time for passing packets between CPUs, which makes a single request slower",
		}},
		{true, Candidate{
			map[string]string{nameQueues: "2", nameXPS: on},
			[]string{udevRule("ethtool -L %k rx 2 tx 2"), udevRule("/bin/sh -c 'echo MASK > /sys/class/net/%k/queues/tx-0/xps_cpus'")},
			"memory for each queue; a connection may change its queue with its CPU, which can reorder packets",
		}},
		{true, Candidate{
			map[string]string{nameTSO: off, nameGRO: on, nameThreaded: on},
			[]string{udevRule("ethtool -K %k tso off gro on"), udevRule("/bin/sh -c 'echo 1 > /sys/class/net/%k/threaded'")},
			"the kernel segments and merges packets again on every veth, and a wake-up of a thread for each batch; the scheduler decides where they run",
		}},
	} {
		if c.helps && acceptsAll(m, c.With) {
			out = append(out, c.Candidate)
		}
	}
	return out
}

func bridgeNFOff() Candidate {
	return Candidate{
		map[string]string{nameBridgeNF: off},
		[]string{
			"printf 'net.bridge.bridge-nf-call-iptables = 0\\nnet.bridge.bridge-nf-call-ip6tables = 0\\n' > /etc/sysctl.d/90-bridge-nf.conf && sysctl --system",
			"nsenter --net=/run/docker/netns/NAMESPACE sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0",
		},
		"rules between containers on one bridge have no effect: --icc=false, network policies, and ports published to containers of the same bridge; " +
			"the second command is for overlay networks, whose namespaces come and go",
	}
}

func trackingOff() Candidate {
	return Candidate{
		map[string]string{nameTracking: off},
		[]string{"nft add table inet notrack && nft add chain inet notrack pre '{ type filter hook prerouting priority raw; }' && nft add chain inet notrack out '{ type filter hook output priority raw; }' && " +
			"nft add rule inet notrack pre iifname DEVICE notrack && nft add rule inet notrack out oifname DEVICE notrack && nft list table inet notrack >> /etc/nftables.conf"},
		"rules on the state of connections and address translation do not apply to these packets: exempt only the ports of one service",
	}
}

// udevRule is the command that runs another one for each device that appears.
func udevRule(run string) string {
	return fmt.Sprintf(`echo 'ACTION=="add", SUBSYSTEM=="net", KERNEL=="DEVICE", RUN+="%s"' >> /etc/udev/rules.d/80-network-tuning.rules`, run)
}

func acceptsAll(m driver.Mode, with map[string]string) bool {
	for name := range with {
		if !slices.Contains(m.Settings, name) {
			return false
		}
	}
	return true
}

// stem is the mode's id without the name of a user's network.
func stem(m driver.Mode) string {
	s, _, _ := strings.Cut(m.ID, ":")
	return s
}

// isTunnel reports whether a mode encapsulates packets, which limits them to 64 KiB.
func isTunnel(m driver.Mode) bool {
	return slices.ContainsFunc([]string{"vxlan", "geneve", "overlay", "wireguard", "nebula", "ipsec"}, func(s string) bool { return strings.Contains(stem(m), s) })
}

// bridgeFilterIsOn reports whether a mode has a bridge whose frames traverse the IP hooks:
// with Docker they do, in a lab they do not.
func bridgeFilterIsOn(m driver.Mode) bool {
	without := []string{"docker/host", "docker/to-host", "docker/macvlan", "docker/ipvlan"}
	return strings.HasPrefix(m.ID, "docker/") && !slices.Contains(without, stem(m))
}

// tracksWithoutTranslation reports whether a mode tracks connections of which nothing is
// translated.
func tracksWithoutTranslation(m driver.Mode) bool {
	has := func(part string) bool {
		return slices.ContainsFunc(m.Parts, func(p driver.Part) bool { return p.ID == part })
	}
	return has("conntrack") && !has("masquerade") && !has("dnat") && !has("filter")
}
