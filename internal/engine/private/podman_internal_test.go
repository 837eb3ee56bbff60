package private

import (
	"testing"

	"tare/internal/testkit/must"
)

// What Podman reports is read, and nothing is made up.
func TestPodmanInfo(t *testing.T) {
	got, err := parsePodmanInfo([]byte(`{"host": {"networkBackend": "netavark", "networkBackendInfo": {"version": "netavark 1.8.0"},
"ociRuntime": {"name": "crun", "version": "crun version 1.8.1\ncommit: x"}, "slirp4netns": {"version": "slirp4netns version 1.2.0\n"},
"pasta": {"version": "pasta 0.0~git20230309\nCopyright"}, "security": {"rootless": true}}}`))
	want := PodmanInfo{Backend: "netavark", BackendVersion: "1.8.0", Runtime: "crun 1.8.1", Slirp: "1.2.0", Pasta: "0.0~git20230309", Rootless: true}
	must.Equal(t, []any{nil, want}, []any{err, got})
	for _, text := range []string{"", "{}", `{"host": 1}`} {
		if _, err := parsePodmanInfo([]byte(text)); err == nil {
			t.Errorf("%q passed", text)
		}
	}
}

func TestFirewallOf(t *testing.T) {
	for text, want := range map[string]string{
		`{"version": "1.4.0", "target": "x"}`:                         "iptables",
		`{"version": "1.14.0", "default_fw_driver": "iptables"}`:      "iptables",
		`{"version": "1.17.2", "default_fw_driver": "nftables"}`:      "nftables",
		`{"version": "2.1.0", "default_fw_driver": "none"}`:           "nftables",
		`{"version": "1.12.0-dev", "default_fw_driver": "firewalld"}`: "iptables",
		"netavark 2.1.0": "iptables",
		"":               "iptables",
	} {
		must.EqualFor(t, text, want, firewallOf([]byte(text)))
	}
}

// Whatever it reports, an answer that passes names the network backend.
func FuzzPodmanInfo(f *testing.F) {
	f.Add([]byte(`{"host": {"networkBackend": "cni"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := parsePodmanInfo(text); err == nil && got.Backend == "" {
			t.Errorf("passed without a backend: %+v", got)
		}
	})
}
