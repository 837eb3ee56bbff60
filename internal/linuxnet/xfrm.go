//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// SecurityAssociation is an IPsec security association of a namespace, and what went
// through it since it was made: the packets, and their bytes as the kernel counts
// them for the association's lifetime (RFC 4301 section 4.4.2.1).
type SecurityAssociation struct {
	Src, Dst       netip.Addr
	SPI            uint32
	ESP            bool // else AH or another protocol
	Bytes, Packets uint64
}

// Associations lists the namespace's IPsec security associations of both families.
func (ns *NS) Associations() ([]SecurityAssociation, error) {
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

// WithoutXfrm is whether err is the answer of a kernel that has no IPsec to ask.
func WithoutXfrm(err error) bool { return errors.Is(err, unix.EPROTONOSUPPORT) }

// leastPriority is that of a policy that gives way to any other.
const leastPriority = 1 << 30

// BlockPlaintext has the namespace's IPsec drop what goes to dst unless another policy takes it.
func (ns *NS) BlockPlaintext(dst netip.Prefix) error {
	any := netip.PrefixFrom(zero(dst.Addr()), 0)
	err := ns.withXfrm(func(h *netlink.Handle) error {
		return h.XfrmPolicyAdd(&netlink.XfrmPolicy{Src: ipNet(any), Dst: ipNet(dst), Dir: netlink.XFRM_DIR_OUT, Action: netlink.XFRM_POLICY_BLOCK, Priority: leastPriority})
	})
	if err != nil {
		return fmt.Errorf("refuse packets to %s without IPsec in namespace %s: %w", dst, ns.name, err)
	}
	return nil
}

// DropPolicies removes the namespace's policies of IPsec; tests use it to open a way
// round the path.
func (ns *NS) DropPolicies() error {
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

// ProbeESP makes and removes the IPsec association that Docker's encrypted networks
// use, ESP in transport mode with AES-GCM. It returns nil where the kernel has what
// that takes, and else the kernel's answer.
func ProbeESP() error {
	ns, err := NewNS("tare-try", false)
	if err != nil {
		return err
	}
	defer ns.Close()
	s := &netlink.XfrmState{
		Src: []byte{192, 0, 2, 1}, Dst: []byte{192, 0, 2, 2}, // RFC 5737: nobody's
		Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TRANSPORT, Spi: 256,
		// 16 bytes of key and 4 of salt (RFC 4106 section 8.1). No packet meets it.
		Aead: &netlink.XfrmStateAlgo{Name: "rfc4106(gcm(aes))", Key: make([]byte, 20), ICVLen: 64},
	}
	if err := ns.withXfrm(func(h *netlink.Handle) error { return h.XfrmStateAdd(s) }); err != nil {
		return fmt.Errorf("add an IPsec ESP association with rfc4106(gcm(aes)): %w", err)
	}
	return nil
}

// withXfrm hands fn a socket of the namespace to the kernel's IPsec.
func (ns *NS) withXfrm(fn func(*netlink.Handle) error) error {
	return ns.Do(func() error {
		h, err := openNetlink(unix.NETLINK_XFRM)
		if err != nil {
			return err
		}
		defer h.Close()
		return fn(h)
	})
}
