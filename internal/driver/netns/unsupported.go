//go:build linux

package netns

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/linuxnet/redirect"
)

// kernelRequirement returns what a mode requires of the kernel beyond namespaces and veth.
func kernelRequirement(id string) string {
	switch id {
	case "netns/published", "netns/bridge":
		return "bridge, nftables with inet NAT, conntrack (CONFIG_BRIDGE, CONFIG_NF_TABLES_INET, CONFIG_NFT_NAT, CONFIG_NFT_MASQ, CONFIG_NFT_FIB_INET)"
	case "netns/colocated", "netns/routed":
		return "bridge (CONFIG_BRIDGE)"
	case "netns/macvlan":
		return "macvlan (CONFIG_MACVLAN)"
	case "netns/ipvlan":
		return "ipvlan (CONFIG_IPVLAN)"
	case "netns/vxlan":
		return "bridge and VXLAN (CONFIG_BRIDGE, CONFIG_VXLAN)"
	case "netns/netkit":
		return "netkit devices (CONFIG_NETKIT, Linux 6.7 or newer)"
	default:
		return "network namespaces and veth (CONFIG_NET_NS, CONFIG_VETH)"
	}
}

// unsupported distinguishes a missing kernel feature from other errors: for an unknown
// device or rule type the kernel returns one of these errors.
func unsupported(id string, err error) error {
	var u *redirect.UnavailableError
	if errors.As(err, &u) {
		return &driver.Unsupported{Mode: id, Reason: u.Error()}
	}
	lacks := errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOENT) ||
		errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EAFNOSUPPORT)
	if !lacks {
		return err
	}
	return &driver.Unsupported{Mode: id, Reason: fmt.Sprintf("the kernel lacks %s: %v", kernelRequirement(id), err)}
}
