package cni_test

import (
	"testing"

	"tare/internal/testkit/drivertest"
)

// A smaller MTU behind a plugin's devices is named before any trial, as a black hole where hosts send no ICMP.
func TestPathMTU(t *testing.T) {
	build(t, "cni/network:ptp", map[string]string{"plugins": drivertest.NeedCNI(t, "current")}).ChecksPathMTU(t, "`mtu` of the plugin in the conflist")
}
