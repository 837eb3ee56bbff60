package drivertest

import (
	"io"
	"net"
	"net/netip"
	"testing"

	"tare/internal/linuxnet"
)

// RelayTCP has this process listen at an address of a host and forward connections to another, as a userland
// proxy does, until the test ends.
func RelayTCP(t *testing.T, on *linuxnet.NS, at, to netip.AddrPort) error {
	t.Helper()
	var l net.Listener
	err := on.Do(func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", at.String())
		return err
	})
	if err != nil {
		return err
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			var out net.Conn
			err = on.Do(func() (err error) {
				out, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", to.String())
				return err
			})
			if err != nil {
				in.Close()
				continue
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return nil
}

func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if tcp, ok := to.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}
