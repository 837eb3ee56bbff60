package netavark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/timelimit"
	"tare/internal/version"
)

// program is the installed netavark.
const program = "netavark"

// oldest is the first version that writes rules of nftables.
const oldest = "1.10"

// tested is what the tests ran.
func tested() version.Tested {
	return version.Tested{Oldest: "1.17.2", Between: " and ", Newest: "2.1.0"}
}

// runTimeout limits how long one call may take, on a real CPU. It takes 50 ms.
func runTimeout() time.Duration { return timelimit.Scaled(20 * time.Second) }

// installed is an installed netavark.
type installed struct{ path, version string }

// find finds netavark, and the program nft that it starts.
func find(ctx context.Context, mode string) (installed, error) {
	lacks := func(format string, args ...any) (installed, error) {
		return installed{}, &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf(format, args...)}
	}
	install := "install netavark " + oldest + " or newer (Debian 13: apt-get install netavark; for tests: scripts/setup-netavark), tested with " + tested().String()
	path, err := daemon.Find(program, private.HelperDirectories()...)
	if err != nil {
		return lacks("%s is not installed: %v; %s", program, err, install)
	}
	const prefix = program + " "
	line, err := daemon.VersionLine(ctx, path, "--version", prefix)
	if ctx.Err() != nil {
		return installed{}, ctx.Err() // interrupted, which does not tell whether it can be used
	}
	if err != nil {
		return lacks("%v; %s", err, install)
	}
	in := installed{path, strings.TrimPrefix(line, prefix)}
	if version.Older(in.version, oldest) {
		return lacks("%s is netavark %s, which writes its rules with iptables only; %s", path, in.version, install)
	}
	if _, err := daemon.Find("nft"); err != nil {
		return lacks("netavark needs nft: %v; install it (Debian: apt-get install nftables)", err)
	}
	return in, nil
}

// The files of netavark below its private /run.
const (
	configFile  = "network.json"
	sandboxFile = "sandbox"
	stateDir    = "netavark"
)

// bridge is the bridge of Podman's default network, and networkID the id by which Podman knows that.
const (
	bridge    = "podman0"
	network   = "podman"
	networkID = "2f259bab93aaaaa2542ba43ef33eb990d0999ee1b9924b557b7be53c0b7a1bb9"
)

// attachment is one sandbox to connect with its host's bridge.
type attachment struct {
	run, name string // of the sandbox
	sandbox   *linuxnet.NS
	gateway   netip.Prefix // of the bridge
	address   netip.Addr
	mtu       int
	published []linuxnet.Published
}

// setUp lets netavark connect a sandbox of a host, in a mount namespace with a /run of its own: what it keeps in
// files is gone when it has ended.
func (in installed) setUp(ctx context.Context, h *lab.Host, a attachment) error {
	config, err := json.Marshal(a.config())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, runTimeout(), fmt.Errorf("it did not end within %v", runTimeout()))
	defer cancel()
	err = daemon.Program{
		Name: program + " of host " + h.Name, Run: a.run, Path: in.path,
		Args:  []string{"--firewall-driver", "nftables", "--config", filepath.Join("/run", stateDir), "--file", filepath.Join("/run", configFile), "setup", filepath.Join("/run", sandboxFile)},
		Env:   []string{"PATH=" + strings.Join(process.SearchPath(), ":")}, // it starts nft
		Dirs:  []string{stateDir},
		Files: map[string]string{configFile: string(config)},
		Binds: map[string]string{sandboxFile: a.sandbox.Path()},
		Start: h.NS.Start,
	}.Finish(ctx)
	if err != nil {
		return fmt.Errorf("connect the sandbox %s/%s: %w%s", h.Name, a.name, plain(err), tested().Beyond(program, in.version))
	}
	return nil
}

// plain replaces the JSON in which netavark wraps its error by the error.
func plain(err error) error {
	before, text, found := strings.Cut(err.Error(), `{"error":`)
	if !found {
		return err
	}
	var said string
	if json.Unmarshal([]byte(strings.TrimSuffix(text, "}")), &said) != nil {
		return err
	}
	return errors.New(before + said)
}

// config is what Podman tells netavark of a container on its default network.
func (a attachment) config() map[string]any {
	type mapping struct {
		ContainerPort uint16 `json:"container_port"`
		HostIP        string `json:"host_ip"`
		HostPort      uint16 `json:"host_port"`
		Protocol      string `json:"protocol"`
		Range         int    `json:"range"`
	}
	var mappings []mapping
	for _, p := range a.published {
		for _, protocol := range []string{"tcp", "udp"} {
			mappings = append(mappings, mapping{p.To.Port(), "", p.Port, protocol, 1})
		}
	}
	return map[string]any{
		"container_id": lab.Prefix + a.run + "-" + a.name, "container_name": a.name, "port_mappings": mappings,
		"networks": map[string]any{network: map[string]any{"interface_name": lab.Underlay, "static_ips": []string{a.address.String()}}},
		"network_info": map[string]any{network: map[string]any{
			"name": network, "id": networkID, "driver": "bridge", "network_interface": bridge,
			"subnets":     []map[string]string{{"subnet": a.gateway.Masked().String(), "gateway": a.gateway.Addr().String()}},
			"dns_enabled": false, "internal": false, "ipv6_enabled": false,
			"ipam_options": map[string]string{"driver": "host-local"}, "options": map[string]string{"mtu": strconv.Itoa(a.mtu)},
		}},
	}
}
