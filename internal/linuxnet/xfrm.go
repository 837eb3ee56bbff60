//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// SecurityAssociation is an IPsec security association of a namespace, with the packets it
// has processed since its creation and their bytes, as the kernel counts them for the
// association's lifetime (RFC 4301 section 4.4.2.1).
type SecurityAssociation struct {
	Src, Dst       netip.Addr
	SPI            uint32
	ESP            bool // otherwise AH or another protocol
	Bytes, Packets uint64
}

// Associations lists the namespace's IPsec security associations of both families.
func (ns *Tunnels) Associations() ([]SecurityAssociation, error) {
	var list []netlink.XfrmState
	err := ns.withXfrm(func(h *netlink.Handle) error {
		return complete(func() (err error) {
			list, err = h.XfrmStateList(netlink.FAMILY_ALL)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list IPsec associations of namespace %s (needs CONFIG_XFRM_USER): %w", ns.name, err)
	}
	var out []SecurityAssociation
	for _, s := range list {
		src, _ := netip.AddrFromSlice(s.Src)
		dst, _ := netip.AddrFromSlice(s.Dst)
		out = append(out, SecurityAssociation{
			Src: src.Unmap(), Dst: dst.Unmap(), SPI: uint32(s.Spi), ESP: s.Proto == netlink.XFRM_PROTO_ESP,
			Bytes: s.Statistics.Bytes, Packets: s.Statistics.Packets,
		})
	}
	return out, nil
}

// WithoutXfrm reports whether err means that the kernel has no IPsec.
func WithoutXfrm(err error) bool { return errors.Is(err, unix.EPROTONOSUPPORT) }

// lowestPriority is the priority of a policy that yields to any other.
const lowestPriority = 1 << 30

// BlockPlaintext makes the namespace drop packets to dst unless another IPsec policy
// applies to them.
func (ns *Tunnels) BlockPlaintext(dst netip.Prefix) error {
	any := netip.PrefixFrom(zero(dst.Addr()), 0)
	err := ns.withXfrm(func(h *netlink.Handle) error {
		return h.XfrmPolicyAdd(&netlink.XfrmPolicy{Src: ipNet(any), Dst: ipNet(dst), Dir: netlink.XFRM_DIR_OUT, Action: netlink.XFRM_POLICY_BLOCK, Priority: lowestPriority})
	})
	if err != nil {
		return fmt.Errorf("block packets to %s without IPsec in namespace %s: %w", dst, ns.name, err)
	}
	return nil
}

// DropPolicies removes the namespace's IPsec policies; tests use it to bypass the path.
func (ns *Tunnels) DropPolicies() error {
	err := ns.withXfrm(func(h *netlink.Handle) error {
		list, err := h.XfrmPolicyList(netlink.FAMILY_ALL)
		for i := range list {
			err = errors.Join(err, h.XfrmPolicyDel(&list[i]))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("remove the IPsec policies of namespace %s: %w", ns.name, err)
	}
	return nil
}

// ProbeESP creates and removes the kind of security association that Docker's encrypted
// networks use, ESP in transport mode with AES-GCM. It returns nil if the kernel supports
// it, else the kernel's error.
func ProbeESP() error {
	ns, err := NewNS("tare-try")
	if err != nil {
		return err
	}
	defer ns.Close()
	s := &netlink.XfrmState{
		Src: []byte{192, 0, 2, 1}, Dst: []byte{192, 0, 2, 2}, // RFC 5737: documentation addresses
		Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TRANSPORT, Spi: 256,
		// 16 bytes of key and 4 of salt (RFC 4106 section 8.1). It processes no packets.
		Aead: &netlink.XfrmStateAlgo{Name: "rfc4106(gcm(aes))", Key: make([]byte, 20), ICVLen: 64},
	}
	if err := ns.Tunnels().withXfrm(func(h *netlink.Handle) error { return h.XfrmStateAdd(s) }); err != nil {
		return fmt.Errorf("add an IPsec ESP association with rfc4106(gcm(aes)): %w", err)
	}
	return nil
}

// withXfrm calls fn with an IPsec netlink socket in the namespace.
func (ns *Tunnels) withXfrm(fn func(*netlink.Handle) error) error {
	return ns.whole().Do(func() error {
		h, err := openNetlink(unix.NETLINK_XFRM)
		if err != nil {
			return err
		}
		defer h.Close()
		return fn(h)
	})
}
