package wireguard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/driver/tunnel"
	"tare/internal/linuxnet"
)

// kernelPeer is an endpoint of the tunnel in the kernel.
type kernelPeer struct{ *tunnel.Side }

// startKernel creates both endpoints in the kernel.
func startKernel(_ context.Context, p *tunnel.Path, both endpointConfigs) (peers [2]peer, err error) {
	for i, s := range p.Sides() {
		e := both[i]
		err := s.NS.Tunnels().WireGuard(linuxnet.WireGuard{Device: p.Device(device), Port: e.Port, Private: linuxnet.WireGuardKey(e.Private),
			Peer: linuxnet.WireGuardKey(e.Peer), At: e.At, Allowed: e.Allowed})
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, os.ErrNotExist) {
			return peers, &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("the kernel lacks WireGuard (CONFIG_WIREGUARD, or its module): %v", err)}
		}
		if err != nil {
			return peers, err
		}
		if err := p.AdoptDevice(s, device); err != nil {
			return peers, err
		}
		p.AddHandler(s, "wireguard", "WireGuard", counterOwner)
		peers[i] = kernelPeer{s}
	}
	p.AddDeciding("WireGuard", "in the kernel"+moduleVersion())
	return peers, nil
}

// moduleVersion returns the version of the kernel module, if it has one.
func moduleVersion() string {
	text, err := os.ReadFile("/sys/module/wireguard/version")
	if err != nil {
		return ""
	}
	return ", version " + strings.TrimSpace(string(text))
}

func (w kernelPeer) transfer() (tx, rx uint64, agreed time.Time, err error) {
	return w.NS.Tunnels().WireGuardTransfer(device)
}
