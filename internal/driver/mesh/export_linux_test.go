package mesh

import (
	"fmt"
	"net/netip"
	"time"
)

// Issue returns a host's certificate that an authority with the given validity has issued.
func Issue(random []byte, from, until time.Time, name string, own, behind []netip.Prefix, private []byte) (string, error) {
	a, err := newAuthority(random, anyTime())
	if err != nil {
		return "", err
	}
	a.valid = validity{from, until}
	c, err := a.issue(name, own, behind, private)
	return c.certificate, err
}

// Print formats credentials with a private key.
func Print(format, private string) string {
	return fmt.Sprintf(format, credentials{private: private})
}
