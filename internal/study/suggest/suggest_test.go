package suggest

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

func TestNearest(t *testing.T) {
	modes := []string{"host", "host-local", "netns/bridge", "netns/macvlan", "docker/overlay", "docker/macvlan"}
	keys := []string{"name", "modes", "workloads", "max_time", "margin", "write_size", "mtu"}
	for _, c := range []struct {
		name  string
		names []string
		want  string
	}{
		{"netns/bridg", modes, "netns/bridge"},
		{"netns/birdge", modes, "netns/bridge"},
		{"docker/bridge", modes, ""}, // a whole word is not a slip of the pen
		{"bridge", modes, "netns/bridge"},
		{"macvlan", modes, ""}, // two end so
		{"HOST", modes, "host"},
		{"host_local", modes, "host-local"},
		{"workload", keys, "workloads"},
		{"mode", keys, "modes"},
		{"Max-Time", keys, "max_time"},
		{"maxtime", keys, "max_time"},
		{"mtx", keys, "mtu"},
		{"size", keys, "write_size"},
		{"rate", keys, ""},
		{"x", keys, ""},
		{"", keys, ""},
		{"name", nil, ""},
	} {
		got, ok := Nearest(c.name, c.names)
		must.True(t, got == c.want && ok == (c.want != ""), "Nearest(%q) = %q, %v, want %q", c.name, got, ok, c.want)
	}
}

// A name that several end in, or nearly so, is suggested with all of them.
func TestMeant(t *testing.T) {
	modes := []string{"host", "netns/published", "docker/published", "docker/macvlan", "netns/bridge"}
	for name, want := range map[string]string{
		"published": "netns/published or docker/published", "publishd": "netns/published or docker/published", "pubished": "netns/published or docker/published",
		"birdge": `"netns/bridge"`, "macvlam": `"docker/macvlan"`, "hist": `"host"`, "overlay": "", "x": "", "": "", strings.Repeat("published", 8): "",
	} {
		must.EqualFor(t, fmt.Sprintf("Meant(%q) =", name), want, Meant(name, modes))
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abc", "bc", 1},
		{"kitten", "sitting", 3}, {"ca", "abc", 3},
	} {
		got := distance(c.a, c.b)
		must.True(t, got == c.want && distance(c.b, c.a) == c.want, "distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
	}
}
