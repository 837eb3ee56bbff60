package wireguard

import (
	"context"
	"fmt"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/tunnel"
	"tare/internal/linuxnet"
)

// needTUN returns why a process cannot have a tunnel device.
func needTUN(mode string) error {
	if err := linuxnet.CheckTUN(); err != nil {
		return &driver.Unsupported{Mode: mode, Reason: err.Error()}
	}
	return nil
}

// libraryPeer is an endpoint of the tunnel run by this program.
type libraryPeer struct{ *daemon.Exchange }

// startLibrary starts this program for both endpoints.
func startLibrary(_ context.Context, p *tunnel.Path, both endpointConfigs) (peers [2]peer, err error) {
	if err := needTUN(p.Mode); err != nil {
		return peers, err
	}
	var up [2]*libraryPeer
	for i, s := range p.Sides() {
		proc, err := daemon.StartSelf("the WireGuard process of host "+s.At, Command, both[i].Run, s.NS.Start)
		if err != nil {
			return peers, err
		}
		p.AddProcess(proc)
		p.AddHandler(s, "process", comm, counterOwner)
		up[i] = &libraryPeer{daemon.NewExchange(proc)}
		peers[i] = up[i]
		if err := up[i].Send(both[i]); err != nil {
			return peers, err
		}
	}
	for i, s := range p.Sides() {
		var r ready
		if err := up[i].Receive(&r); err != nil {
			return peers, err
		}
		if err := p.AdoptDevice(s, device); err != nil {
			return peers, err
		}
		if i == 0 {
			p.AddDeciding("WireGuard", fmt.Sprintf("Go library %s %s in a process of tare", library, r.Version))
			p.AddFact("packets at once", fmt.Sprint(r.Batch))
		}
	}
	return peers, nil
}

func (s *libraryPeer) transfer() (tx, rx uint64, agreed time.Time, err error) {
	var c counters
	err = s.Ask("counters", &c)
	return c.TX, c.RX, c.Handshake, err
}
