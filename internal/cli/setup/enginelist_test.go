package setup

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"tare/internal/engine/private"
	"tare/internal/testkit/must"
)

// What is unknown of an engine is shown as unknown, and one that cannot be used with the reason.
func TestPrintFound(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	dated := foundEngine{Use: "lab: v1", Current: true, Path: "/x/dockerd", Version: "29.0.1", Containerd: "2.2.0", Runc: "1.3.3", Firewalls: []string{"iptables", "nftables"}, Rootless: true}
	dated.date(time.Date(2025, 11, 10, 0, 0, 0, 0, time.UTC))
	var out bytes.Buffer
	must.Do(t, printFound(&out, []foundEngine{dated, {Use: "docker", Version: "99", Path: "unix:///x"}, {Use: "unix:///y", Error: "permission denied"}}, now))
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{
		"ENGINE VERSION AGE CONTAINERD RUNC RUNSC FIREWALL ROOTLESS WHERE",
		"lab: v1 or current 29.0.1 1 year 2.2.0 1.3.3 none iptables, nftables yes /x/dockerd",
		"docker 99 unknown unknown unknown unknown unknown no unix:///x",
		"unix:///y - - - - - - - permission denied",
	} {
		must.True(t, i < len(got) && strings.Join(strings.Fields(got[i]), " ") == want, "line %d of %q, want %q", i+1, got, want)
	}
}

// A Podman that the environment names and that does not exist is listed, with the reason.
func TestNamedPodmanIsListed(t *testing.T) {
	t.Setenv(private.PodmanVariable, "/nonexistent/podman")
	f, found := podmanHere(t.Context())
	must.True(t, found && f.Use == "podman modes" && f.Error != "", "found %t: %+v", found, f)
}
