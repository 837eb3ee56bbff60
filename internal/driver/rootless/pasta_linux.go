package rootless

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tare/internal/driver/daemon"
	"tare/internal/lab"
)

// passt is pasta, of the project and package passt.
type passt struct{}

func (passt) name() string        { return "pasta" }
func (passt) packageName() string { return "passt" }

// hostNumber is arbitrary: pasta uses the address that it is given.
func (passt) hostNumber() int { return 15 }

func (passt) identify(said string) (string, error) {
	version, ok := strings.CutPrefix(firstLine(said), "pasta ")
	if !ok || strings.TrimSpace(version) == "" {
		return "", errWrongProgram
	}
	return version, nil // some builds say "unknown version"
}

func (passt) args(b sandboxConfig) []string {
	published := "none"
	if b.public.IsValid() {
		published = fmt.Sprintf("%s/%d", b.public.Addr(), b.public.Port())
	}
	return []string{
		"--foreground", "--stderr", "--quiet", "--runas", "0", "--ipv4-only", "--mtu", strconv.Itoa(b.mtu),
		"--config-net", "--ns-ifname", tap, "--interface", lab.Underlay, "--no-map-gw", "--dns", "none",
		"--address", b.address.Addr().String(), "--netmask", strconv.Itoa(b.address.Bits()), "--gateway", b.gateway.String(),
		"--tcp-ports", published, "--udp-ports", published, "--tcp-ns", "none", "--udp-ns", "none",
		"--netns", netns,
	}
}

// publish does nothing: the arguments already include the port.
func (passt) publish(context.Context, *daemon.Process, sandboxConfig) error { return nil }
