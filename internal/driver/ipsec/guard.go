//go:build linux

package ipsec

import "tare/internal/lab"

// guard routes each side's packets to the other side unencrypted, for the kernel's IPsec to
// process them, and blocks packets without a security association: nothing leaves
// unencrypted when the tunnel is down.
func (b *build) guard() error {
	for _, s := range b.Sides() {
		other := b.Other(s)
		for i, behind := range other.Subnets {
			if err := s.NS.Tunnels().BlockPlaintext(behind); err != nil {
				return err
			}
			if err := s.NS.Routes().Route(behind, other.Host.Addr[i], lab.Underlay); err != nil {
				return err
			}
		}
	}
	return nil
}
