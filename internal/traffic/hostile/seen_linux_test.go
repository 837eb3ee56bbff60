package hostile_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

// seen is what the client of a trial sent to the server: the payloads of its first packets, which
// include the handshake.
type seen struct{ payloads [][]byte }

// maxSeen is how many packets are kept.
const maxSeen = 32

// watch records what passes the bridge's port of the client until the returned function is called.
func (n *neighbour) watch(t *testing.T, device string) (stop func(server netip.AddrPort) seen) {
	t.Helper()
	var packets [][]byte
	opened, done := make(chan error, 1), make(chan error, 1)
	var over atomic.Bool
	go func() {
		done <- n.on.Do(func() error {
			fd, err := listenOn(device)
			opened <- err
			if err != nil {
				return nil
			}
			defer unix.Close(fd)
			for buf := make([]byte, 1<<16); !over.Load() && len(packets) < 8*maxSeen; {
				m, _, err := unix.Recvfrom(fd, buf, 0)
				if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
					continue
				}
				if err != nil {
					return fmt.Errorf("watch %s: %w", device, err)
				}
				packets = append(packets, append([]byte{}, buf[:m]...))
			}
			return nil
		})
	}()
	must.Do(t, <-opened)
	return func(server netip.AddrPort) (s seen) {
		over.Store(true)
		must.Do(t, <-done)
		for _, p := range packets {
			if payload := payloadTo(p, server); len(payload) > 0 && len(s.payloads) < maxSeen {
				s.payloads = append(s.payloads, payload)
			}
		}
		if len(s.payloads) == 0 {
			t.Fatalf("none of %d packets on %s goes to %s", len(packets), device, server)
		}
		return s
	}
}

// listenOn opens a socket that receives the packets of one device, without their link header. It takes
// all protocols: those for one only come after the bridge, which consumes the packets of its ports.
func listenOn(device string) (int, error) {
	const all = unix.ETH_P_ALL << 8 // in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("watch %s: %w", device, err)
	}
	var index int
	if ifr, err := unix.NewIfreq(device); err == nil && unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, ifr) == nil {
		index = int(ifr.Uint32())
	}
	err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: index})
	if err == nil {
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 20_000})
	}
	if err != nil || index == 0 {
		unix.Close(fd)
		return -1, fmt.Errorf("watch %s (device %d): %w", device, index, err)
	}
	return fd, nil
}

// payloadTo returns the payload of a TCP or UDP packet to a server, nil for any other packet.
func payloadTo(p []byte, server netip.AddrPort) []byte {
	if len(p) < 20 || p[0]>>4 != 4 || len(p) < int(p[0]&15)*4+20 {
		return nil
	}
	to := netip.AddrPortFrom(netip.AddrFrom4([4]byte(p[16:20])), binary.BigEndian.Uint16(p[int(p[0]&15)*4+2:]))
	if to != server {
		return nil
	}
	proto, rest := p[9], p[int(p[0]&15)*4:]
	if proto == unix.IPPROTO_UDP {
		return rest[8:]
	}
	if header := int(rest[12]>>4) * 4; proto == unix.IPPROTO_TCP && len(rest) >= header {
		return rest[header:]
	}
	return nil
}
