package tool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"tare/internal/process"
)

// portTries is the number of attempts to find a free port.
const portTries = 50

// freePort finds a port that is free for TCP and UDP, because a tool uses the same number for both;
// with below, the port below it is free as well.
func freePort(address string, below bool) (uint16, error) {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return 0, err
	}
	var last error
	for range portTries {
		port, err := tryPorts(addr.Addr(), 0)
		if err == nil && below {
			_, err = tryPorts(addr.Addr(), port-1)
		}
		if err == nil {
			return port, nil
		}
		last = err
	}
	return 0, fmt.Errorf("find a free port on %s: %w", addr.Addr(), last)
}

// tryPorts binds both protocols briefly.
func tryPorts(addr netip.Addr, port uint16) (uint16, error) {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", netip.AddrPortFrom(addr, port).String())
	if err != nil {
		return 0, err
	}
	defer l.Close()
	got, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return 0, err
	}
	u, err := config.ListenPacket(context.Background(), "udp", netip.AddrPortFrom(addr, got.Port()).String())
	if err != nil {
		return 0, err
	}
	u.Close()
	return got.Port(), nil
}

// waitListening waits until the port is open without connecting to it: a tool would take a
// connection for its client.
func (p *proc) waitListening(ctx context.Context, port uint16, udp bool) error {
	began := time.Now()
	err := p.WaitFor(ctx, func() (bool, error) {
		open, known := portOpen(port, udp)
		return open || !known && time.Since(began) > portBlindWait, nil
	})
	switch {
	case errors.Is(err, process.ErrEnded):
		return errors.New("the server exited at once")
	case err != nil:
		return fmt.Errorf("port %d was not open after %s", port, listenTimeout())
	}
	return nil
}

// portBlindWait is how long a server has to start if its port cannot be checked.
const portBlindWait = 500 * time.Millisecond
