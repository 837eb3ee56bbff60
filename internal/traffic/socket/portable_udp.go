//go:build !windows

package socket

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// portablePort is the single socket of a server, for all flows.
type portablePort struct {
	c *net.UDPConn
	o UDPOptions
	// connected is true once the wire is responsible for closing the socket.
	connected bool
}

// ListenUDP opens the port of a server.
func (Portable) ListenUDP(address string, o UDPOptions) (UDPPort, error) {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return nil, err
	}
	if err := setPortableBuffers(c, o); err != nil {
		c.Close()
		return nil, err
	}
	return &portablePort{c: c, o: o}, nil
}

func setPortableBuffers(c *net.UDPConn, o UDPOptions) (err error) {
	if o.SendBuffer >= 0 {
		err = c.SetWriteBuffer(o.SendBuffer)
	}
	if o.ReceiveBuffer >= 0 {
		err = errors.Join(err, c.SetReadBuffer(o.ReceiveBuffer))
	}
	if err != nil {
		return fmt.Errorf("set socket buffers: %w", err)
	}
	return nil
}

func (l *portablePort) Port() uint16 { return portOf(l.c.LocalAddr()) }

func (l *portablePort) Close() {
	if !l.connected {
		l.c.Close()
	}
}

func (l *portablePort) Receive(b []byte) (int, netip.AddrPort, error) {
	if err := l.c.SetReadDeadline(time.Now().Add(PollTimeout)); err != nil {
		return 0, netip.AddrPort{}, err
	}
	n, from, err := l.c.ReadFromUDPAddrPort(b)
	return n, unmapIPv4(from), portableUDPError(err)
}

func (l *portablePort) Answer(b []byte, to netip.AddrPort) error {
	_, err := l.c.WriteToUDPAddrPort(b, to)
	return err
}

func (l *portablePort) Connect(peers []netip.AddrPort) (UDPWire, error) {
	w := &portableWire{conns: []*net.UDPConn{l.c}, peers: peers, flows: map[netip.AddrPort]int{}, wait: PollTimeout, o: l.o}
	for i, a := range peers {
		w.flows[a] = i
	}
	l.connected = true
	return w, nil
}

// unmapIPv4 turns an IPv4-mapped IPv6 address, which some systems report, into the IPv4 address.
func unmapIPv4(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// portableUDPError maps errors to those that workloads handle.
func portableUDPError(err error) error {
	var timeout net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, syscall.ENOBUFS):
		return ErrAgain
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		return ErrRefused
	case errors.Is(err, syscall.EMSGSIZE):
		return ErrTooLong
	}
	return err
}

// portableWire has one socket per flow at the client. At the server it has one socket for all flows
// and distinguishes them by the peer's address.
type portableWire struct {
	conns   []*net.UDPConn
	peers   []netip.AddrPort       // of the flows, at the server
	flows   map[netip.AddrPort]int // flow by address, at the server
	wait    time.Duration
	o       UDPOptions
	pumps   sync.WaitGroup
	full    chan packet // packets from the read goroutines
	empty   chan []byte
	closing chan struct{}
	foreign int64
}

// packet is a packet that a read goroutine has received.
type packet struct {
	flow int
	b    []byte
	n    int
	err  error
}

// DialUDP opens a socket for each flow.
func (Portable) DialUDP(to netip.AddrPort, o UDPOptions) (UDPWire, error) {
	w := &portableWire{wait: PollTimeout, o: o}
	for range max(1, o.Flows) {
		c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		if err == nil {
			w.conns = append(w.conns, c)
			err = setPortableBuffers(c, o)
		}
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("open flow %d to %s: %w", len(w.conns), to, err)
		}
	}
	if len(w.conns) > 1 {
		w.pump()
	}
	return w, nil
}

// pump starts one read goroutine per socket, because package net cannot wait for several.
func (w *portableWire) pump() {
	n := len(w.conns) + Batch // each goroutine holds one while it waits
	w.full, w.empty, w.closing = make(chan packet, n), make(chan []byte, n), make(chan struct{})
	room := w.o.Longest + 1
	for range n {
		w.empty <- make([]byte, room)
	}
	for i, c := range w.conns {
		w.pumps.Go(func() {
			for {
				select {
				case b := <-w.empty:
					n, err := c.Read(b)
					if errors.Is(err, net.ErrClosed) {
						return
					}
					w.full <- packet{i, b, n, portableUDPError(err)} // has capacity for all of them
				case <-w.closing:
					return
				}
			}
		})
	}
}

func (w *portableWire) Close() {
	if w.closing != nil {
		close(w.closing)
	}
	for _, c := range w.conns {
		c.Close()
	}
	w.pumps.Wait()
}

func (*portableWire) Attach(*Outbox) {}

func (w *portableWire) Send(flow int, out *Outbox, from, n int) (int, error) {
	for i := range n {
		if err := w.SendOne(flow, out.datagram(from+i)); err != nil {
			if i > 0 {
				return i, nil // the next call returns it again
			}
			return 0, err
		}
	}
	return n, nil
}

func (w *portableWire) SendOne(flow int, b []byte) (err error) {
	if w.peers == nil {
		_, err = w.conns[flow].Write(b)
	} else {
		_, err = w.conns[0].WriteToUDPAddrPort(b, w.peers[flow])
	}
	return portableUDPError(err)
}

func (w *portableWire) Receive(in *Inbox) error {
	in.N = 0
	if w.full != nil {
		return w.fromPumps(in)
	}
	c := w.conns[0]
	if err := c.SetReadDeadline(time.Now().Add(w.wait)); err != nil {
		return err
	}
	n, from, err := c.ReadFromUDPAddrPort(in.Bufs[0])
	if err != nil {
		return portableUDPError(err)
	}
	flow := 0
	if w.peers != nil {
		known := false
		if flow, known = w.flows[unmapIPv4(from)]; !known {
			w.foreign++
			return ErrAgain
		}
	}
	in.Flow, in.N, in.Sizes[0] = flow, 1, n
	return nil
}

// ReceiveWithin waits at least leastWait: package net does not read after its deadline.
func (w *portableWire) ReceiveWithin(in *Inbox, d time.Duration) error {
	before := w.wait
	w.wait = max(d, leastWait)
	err := w.Receive(in)
	w.wait = before
	return err
}

const leastWait = 50 * time.Microsecond

func (w *portableWire) fromPumps(in *Inbox) error {
	select {
	case p := <-w.full:
		in.Flow, in.N, in.Sizes[0] = p.flow, 1, copy(in.Bufs[0], p.b[:p.n])
		w.empty <- p.b
		if p.err != nil {
			in.N = 0
		}
		return p.err
	case <-time.After(w.wait):
		return ErrAgain
	}
}

func (w *portableWire) SetTimeout(patience time.Duration) error {
	w.wait = patience
	return nil
}

func (w *portableWire) Messenger(flow int) Messenger { return &portableMessenger{w, flow} }

func (*portableWire) Segment(int) (int, error) {
	return 1, fmt.Errorf("%w in the portable implementation", ErrOffload)
}

// State returns only the MTU of the device that has this endpoint's address. Package net does not
// report granted buffers or drops.
func (w *portableWire) State() UDPState {
	return UDPState{MTU: w.mtu(), UnknownPeers: w.foreign}
}

func (w *portableWire) mtu() int {
	local, ok := w.conns[0].LocalAddr().(*net.UDPAddr)
	if !ok {
		return 0
	}
	return deviceMTU(local.IP)
}

// portableMessenger sends and receives single datagrams.
type portableMessenger struct {
	w    *portableWire
	flow int
}

func (m *portableMessenger) Send(b []byte) (int, error) {
	return len(b), m.w.SendOne(m.flow, b)
}

func (m *portableMessenger) Recv(b []byte) (int, error) {
	c := m.w.conns[0]
	if err := c.SetReadDeadline(time.Now().Add(m.w.wait)); err != nil {
		return 0, err
	}
	n, from, err := c.ReadFromUDPAddrPort(b)
	if err == nil && m.w.peers != nil && unmapIPv4(from) != m.w.peers[m.flow] {
		m.w.foreign++
		return 0, ErrAgain
	}
	return n, portableUDPError(err)
}

// Sleeper sleeps with the precision of the Go runtime.
func (Portable) Sleeper() func(time.Duration) { return time.Sleep }
