package hostile_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// The names of the neighbour's devices, and its number in the subnet of the sandboxes.
const (
	bridge          = "br0"
	port, eth       = "neighbour0", "eth0"
	neighbourNumber = 240
)

// neighbour is a third sandbox on the bridge of a mode's two.
type neighbour struct {
	t    *testing.T
	ns   *linuxnet.NS
	on   *linuxnet.NS // the host with the bridge
	sent atomic.Int64 // payload bytes and connections, to see that an attack took place
}

func moveIn(t *testing.T, s *drivertest.Setup) *neighbour {
	t.Helper()
	ns := must.Get(linuxnet.NewNS("neighbour"))(t)
	t.Cleanup(func() { ns.Close() })
	host := s.Lab.A.NS
	must.Do(t, errors.Join(host.Links().Veth(linuxnet.Device{Name: port}, ns, linuxnet.Device{Name: eth}), host.Links().Attach(port, bridge), host.Links().Up(port), ns.Links().Up(eth), ns.Links().Up("lo")))
	must.Do(t, ns.Routes().Address(eth, s.Lab.Addresses(lab.NetA, neighbourNumber)[0]))
	return &neighbour{t: t, ns: ns, on: host}
}

// target is what the neighbour knows of a trial that is under way.
type target struct {
	server   netip.AddrPort
	client   netip.Addr
	datagram bool
	old      seen // of an earlier trial
}

// attack is something that a neighbour does until the context ends, on a thread in its namespace.
type attack func(ctx context.Context, n *neighbour, at target)

// during starts an attack on several threads. The returned function ends it.
func (n *neighbour) during(a attack, at target, threads int) (stop func()) {
	ctx, cancel := context.WithCancel(n.t.Context())
	var running sync.WaitGroup
	for range threads {
		running.Go(func() {
			err := n.ns.Do(func() error {
				a(ctx, n, at)
				return nil
			})
			if err != nil {
				n.t.Error(err)
			}
		})
	}
	return func() { cancel(); running.Wait() }
}

// connect opens a connection, or returns nil: the port may be full or closed again.
func (n *neighbour) connect(at target) *net.TCPConn {
	c, err := (&net.Dialer{Timeout: 200 * time.Millisecond}).Dial("tcp", at.server.String())
	if err != nil {
		return nil
	}
	n.sent.Add(1)
	return c.(*net.TCPConn)
}

// flood sends as much garbage as the server takes: one connection after the other, or datagrams.
func flood(ctx context.Context, n *neighbour, at target) {
	garbage := make([]byte, 1200)
	if at.datagram {
		c, err := net.Dial("udp", at.server.String())
		if err != nil {
			n.t.Error(err)
			return
		}
		defer c.Close()
		for ctx.Err() == nil {
			if m, err := c.Write(garbage); err == nil { // else the server's host refused the one before
				n.sent.Add(int64(m))
			}
		}
		return
	}
	for ctx.Err() == nil {
		c := n.connect(at)
		if c == nil {
			continue
		}
		_ = c.SetDeadline(time.Now().Add(50 * time.Millisecond))
		for sent := 0; ctx.Err() == nil && sent < 1<<20; {
			m, err := c.Write(garbage)
			if sent += m; err != nil {
				break
			}
		}
		_ = c.SetLinger(0) // so that source ports do not run out
		c.Close()
	}
}

// hold opens connections and sends next to nothing on them.
func hold(ctx context.Context, n *neighbour, at target) {
	var all []*net.TCPConn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for ctx.Err() == nil {
		if c := n.connect(at); c != nil && len(all) < 40 { // fewer than a trial refuses
			all = append(all, c)
		} else if c != nil {
			c.Close()
		}
		for _, c := range all {
			_ = c.SetWriteDeadline(time.Now().Add(time.Millisecond))
			_, _ = c.Write([]byte("x"))
		}
		if len(all) == 40 {
			<-ctx.Done()
		}
	}
}

// replay sends what an earlier trial sent to its server.
func replay(ctx context.Context, n *neighbour, at target) {
	if at.datagram {
		c, err := net.Dial("udp", at.server.String())
		if err != nil {
			n.t.Error(err)
			return
		}
		defer c.Close()
		for i := 0; ctx.Err() == nil; i++ {
			if m, err := c.Write(at.old.payloads[i%len(at.old.payloads)]); err == nil {
				n.sent.Add(int64(m))
			}
			time.Sleep(100 * time.Microsecond)
		}
		return
	}
	for range 30 { // fewer than a trial refuses
		c := n.connect(at)
		if c == nil {
			continue
		}
		for _, p := range at.old.payloads {
			if _, err := c.Write(p); err != nil {
				break
			}
		}
		c.Close()
	}
	<-ctx.Done()
}

// spoof sends the datagrams of an earlier trial and garbage with the client's address, from its ports
// of the earlier trial and near them: a kernel often gives ports in order.
func spoof(ctx context.Context, n *neighbour, at target) {
	raw, to := n.raw(at)
	defer unix.Close(raw)
	for i := 0; ctx.Err() == nil; i++ {
		payload := at.old.payloads[i%len(at.old.payloads)]
		if i%2 == 1 {
			payload = make([]byte, 1200)
		}
		for source := range 1 << 16 / 64 {
			if ctx.Err() != nil {
				return
			}
			from := uint16(source*64 + i%64)
			n.put(raw, to, packet(at, uint16(i), 0, false, udpDatagram(from, at.server.Port(), payload)))
		}
	}
}

// fragments sends parts of datagrams with the client's address that are never complete, overlap, or
// make a datagram longer than any can be.
func fragments(ctx context.Context, n *neighbour, at target) {
	raw, to := n.raw(at)
	defer unix.Close(raw)
	part := udpDatagram(4000, at.server.Port(), make([]byte, 1192))
	for id := uint16(0); ctx.Err() == nil; id++ {
		n.put(raw, to, packet(at, id, 0, true, part))
		n.put(raw, to, packet(at, id, 64, true, part))     // over the first
		n.put(raw, to, packet(at, id+1, 8100, true, part)) // ends behind 64 KiB
		n.put(raw, to, packet(at, id+2, 1200/8, false, part))
	}
}

// raw opens a socket for packets with their own header.
func (n *neighbour) raw(at target) (int, unix.Sockaddr) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		n.t.Error(err)
	}
	return fd, &unix.SockaddrInet4{Addr: at.server.Addr().As4()}
}

func (n *neighbour) put(fd int, to unix.Sockaddr, packet []byte) {
	err := unix.Sendto(fd, packet, 0, to)
	switch {
	case err == nil:
		n.sent.Add(int64(len(packet)))
	case errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EAGAIN):
	default:
		n.t.Error(fmt.Errorf("send a packet: %w", err))
	}
}

// packet is an IPv4 packet from the trial's client (RFC 791). The kernel adds length and checksum.
// offset is in units of 8 bytes.
func packet(at target, id, offset uint16, more bool, payload []byte) []byte {
	h := make([]byte, 20, 20+len(payload))
	h[0], h[8], h[9] = 0x45, 64, unix.IPPROTO_UDP
	binary.BigEndian.PutUint16(h[4:], id+1) // with 0 the kernel chooses one
	if more {
		offset |= 1 << 13
	}
	binary.BigEndian.PutUint16(h[6:], offset)
	src, dst := at.client.As4(), at.server.Addr().As4()
	copy(h[12:], src[:])
	copy(h[16:], dst[:])
	return append(h, payload...)
}

// udpDatagram is a datagram without a checksum (RFC 768).
func udpDatagram(from, to uint16, payload []byte) []byte {
	h := make([]byte, 8, 8+len(payload))
	binary.BigEndian.PutUint16(h, from)
	binary.BigEndian.PutUint16(h[2:], to)
	binary.BigEndian.PutUint16(h[4:], uint16(8+len(payload)))
	return append(h, payload...)
}
