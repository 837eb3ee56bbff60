package kube

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzNetworkStatus reads what a network plugin reports of a pod's networks: there is either an
// error or the entry that was looked for, with a device.
func FuzzNetworkStatus(f *testing.F) {
	f.Add(`[{"name": "cbr0", "interface": "eth0", "ips": ["198.18.0.2"], "default": true}, {"name": "default/second", "interface": "net1", "ips": ["198.18.3.1", "2001:2::1"], "mac": "02:00:00:00:00:01", "dns": {}}]`, "default/second")
	f.Add(`[{"name": "a/b", "interface": "eth0", "default": true}]`, "a/b")
	f.Add(`{}`, "")
	f.Add(`[{"name": "a/b"}]`, "a/b")
	f.Fuzz(func(t *testing.T, status, network string) {
		found, err := findAttachment(status, network)
		switch {
		case err != nil && found.Interface != "":
			t.Errorf("both %v and %+v", err, found)
		case err == nil && (found.Name != network || found.Interface == "" || found.Default || utf8.ValidString(status) && !strings.Contains(status, "[")):
			t.Errorf("%q of %q: %+v", network, status, found)
		}
	})
}
