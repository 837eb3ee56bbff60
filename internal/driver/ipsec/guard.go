//go:build linux

package ipsec

import "tare/internal/lab"

// guard routes each side's packets to the other as they are, for the kernel's IPsec to
// take them on their way, and has it refuse those for which it has no association: so
// that nothing leaves in clear when the tunnel goes.
func (b *build) guard() error {
	for _, s := range b.Sides() {
		other := b.Other(s)
		for i, behind := range other.Subnets {
			if err := s.NS.BlockPlaintext(behind); err != nil {
				return err
			}
			if err := s.NS.Route(behind, other.Host.Addr[i], lab.Underlay); err != nil {
				return err
			}
		}
	}
	return nil
}
