package agent

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/traffic/socket"
)

// The sizes of IP and UDP headers in bytes.
const (
	headersIPv4 = 20 + 8
	headersIPv6 = 40 + 8
)

// smallestSize is the size of the packets that every path passes: below the minimum MTU of
// IPv4 and IPv6, and with room for a probe's header.
const smallestSize = 256

// sizeCopies is how often each size is sent, because single datagrams are lost on any path.
const sizeCopies = 3

// lossCopies is how many packets of each of two sizes are sent to see how many are lost, lossInterval the time
// between two, and lossTime that of all, where waiting takes longer. smallLossSize is the smaller size, which nothing else is sent in.
const (
	lossCopies    = 200
	lossInterval  = time.Millisecond
	lossTime      = time.Second
	smallLossSize = smallestSize + 1
)

// roundSizes is how many sizes are tried at once: few enough for any socket's buffer.
const roundSizes = 8

// insistCopies is how many more packets of the MTU are sent, insistInterval apart, if none has arrived: a path that loses packets
// may have lost the others.
const (
	insistCopies   = 8
	insistInterval = time.Millisecond
)

// maxSize is the largest IP packet, and jumboSize the largest that is tried where only the route says what passes: several of larger ones do not fit
// into a socket's buffer.
const (
	maxSize   = 65535
	jumboSize = 9216
)

// A datagram of a probe is the token, the size of its packet and data that follows from the
// token. Its answer is the token, the size and whether the data was the expected.
const (
	datagramHeader = pathTokenBytes + 4
	answerLength   = datagramHeader + 1
	asExpected     = 1
)

func headersOf(a netip.Addr) int {
	if a.Unmap().Is4() {
		return headersIPv4
	}
	return headersIPv6
}

// sizedDatagram returns the payload of a packet of a size.
func sizedDatagram(token string, size, headers int) []byte {
	b := make([]byte, size-headers)
	copy(b, token)
	binary.BigEndian.PutUint32(b[pathTokenBytes:], uint32(size)) //nolint:gosec // at most maxSize
	_, _ = io.ReadFull(pathContent(token), b[datagramHeader:])   // random bytes have no end
	return b
}

// listenForSizes opens a port and returns a function that answers datagrams with the token
// until the context ends.
func listenForSizes(ctx context.Context, k *wire.PathProbe) (port uint16, answer func() probeResult, err error) {
	conn, err := socket.ListenPacket(ctx, k.Address)
	if err != nil {
		return 0, nil, err
	}
	return portOf(conn.LocalAddr()), func() probeResult { return answerSizes(ctx, conn, k.Token) }, nil
}

func answerSizes(ctx context.Context, conn net.PacketConn, token string) probeResult {
	defer closeAtEnd(ctx, func() { conn.Close() })()
	expected := make([]byte, maxSize)
	_, _ = io.ReadFull(pathContent(token), expected) // random bytes have no end
	buf := make([]byte, maxSize)
	refused := 0
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil && ctx.Err() != nil {
			return probeResult{refused: refused}
		}
		if err != nil {
			return probeResult{refused: refused, err: err}
		}
		if n < datagramHeader || subtle.ConstantTimeCompare(buf[:pathTokenBytes], []byte(token)) != 1 {
			refused++
			continue
		}
		b := make([]byte, answerLength)
		copy(b, buf[:datagramHeader])
		if bytes.Equal(buf[datagramHeader:n], expected[:n-datagramHeader]) {
			b[datagramHeader] = asExpected
		}
		_, _ = conn.WriteTo(b, from) // the sender sends each size several times
	}
}

// sizeSearch is the state of a search.
type sizeSearch struct {
	conn     socket.PacketConn
	k        *wire.PathProbe
	headers  int
	answered map[int]bool // sizes that arrived; false: with other content
	answers  map[int]int  // how many answers of each size came since they were last counted
	out      *wire.PathSizes
}

// searchSizes finds the largest packet that passes. It sends several sizes at once and then a
// small packet: when that is answered, the answers to the sizes before it have arrived, too,
// however slow the path and the machines are.
func searchSizes(ctx context.Context, k *wire.PathProbe) (*wire.PathSizes, error) {
	to, err := netip.ParseAddrPort(k.Address)
	if err != nil {
		return nil, err
	}
	conn, err := socket.DialPacket(to)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	ipv6, ofDevice := to.Addr().Unmap().Is6(), k.MTU > 0
	if !ofDevice {
		if k.MTU, err = routeMTU(conn, ipv6); err != nil {
			return nil, fmt.Errorf("read the MTU of the route: %w", err)
		}
		k.MTU = min(k.MTU, jumboSize)
	}
	mtu := min(k.MTU, maxSize)
	if mtu <= smallestSize {
		return nil, fmt.Errorf("the device has an MTU of %d bytes, and the probe needs more than %d", k.MTU, smallestSize)
	}
	s := &sizeSearch{conn: conn, k: k, headers: headersOf(to.Addr()), answered: map[int]bool{}, answers: map[int]int{}, out: &wire.PathSizes{MTU: mtu}}
	if err := forbidFragments(conn, ipv6); err != nil {
		return nil, fmt.Errorf("forbid the fragmentation of packets: %w", err)
	}
	s.out.ReportsUnseen = reportsUnseen
	lo, hi := smallestSize, mtu+1 // the largest that arrived, and the smallest that did not
	for sizes := []int{mtu}; hi-lo > 1; sizes = between(lo, hi) {
		if err := s.round(ctx, sizes); err != nil {
			return nil, err
		}
		for _, size := range sizes {
			unchanged, arrived := s.answered[size]
			if arrived {
				lo = max(lo, size)
			}
			if arrived && !unchanged && (s.out.Changed == 0 || size < s.out.Changed) {
				s.out.Changed = size
			}
		}
		for _, size := range sizes {
			if _, arrived := s.answered[size]; !arrived && size > lo {
				hi = min(hi, size)
			}
		}
	}
	if lo < mtu {
		arrived, err := s.insist(ctx, mtu)
		if err != nil {
			return nil, err
		}
		if arrived {
			lo = mtu
		}
	}
	if s.out.Largest = lo; lo < mtu {
		s.out.Lost = lo + 1
	}
	if k.Loss {
		if err := s.countLost(ctx); err != nil {
			return nil, err
		}
	}
	if mtu < maxSize && ofDevice {
		refused, err := s.tooLarge(mtu + 1)
		if err == nil {
			s.out.Refused = &refused
		}
	}
	return s.out, nil
}

// countLost sends many packets of the two sizes in turn and counts those without an answer.
func (s *sizeSearch) countLost(ctx context.Context) error {
	sizes := [2]int{smallLossSize, max(s.out.Largest, smallLossSize+1)}
	if s.out.Largest < sizes[1] {
		return nil // only the smallest packets pass
	}
	if err := s.sync(ctx); err != nil { // so that no answer of the search is counted
		return err
	}
	clear(s.answers)
	sent := 0
	all := func() bool { return s.answers[sizes[0]] >= sent && s.answers[sizes[1]] >= sent }
	for began := time.Now(); sent < lossCopies && time.Since(began) < lossTime; sent++ {
		for _, size := range sizes {
			s.send(size)
			s.read(lossInterval, func() bool { return false })
		}
	}
	if err := s.sync(ctx); err != nil {
		return err
	}
	s.read(reorderTime, all)
	s.out.Probed = sent
	for i, size := range sizes {
		s.out.Unanswered[i] = max(0, sent-s.answers[size])
	}
	return nil
}

// between returns the sizes to try next, ascending and evenly spaced.
func between(lo, hi int) (sizes []int) {
	step := max(1, (hi-lo)/(roundSizes+1))
	for size := lo + step; size < hi && len(sizes) < roundSizes; size += step {
		sizes = append(sizes, size)
	}
	return sizes
}

// sentinelInterval is the time after which the small packet is sent again.
const sentinelInterval = 50 * time.Millisecond

// reorderTime is how long answers may be late that were overtaken.
const reorderTime = 20 * time.Millisecond

// round sends each size until it is answered, at most sizeCopies times.
func (s *sizeSearch) round(ctx context.Context, sizes []int) error {
	missing := func(size int) bool { _, arrived := s.answered[size]; return !arrived }
	for copies := 0; copies < sizeCopies && slices.ContainsFunc(sizes, missing); copies++ {
		for _, size := range slices.Backward(sizes) {
			if missing(size) {
				s.send(size)
			}
		}
		if err := s.sync(ctx); err != nil {
			return err
		}
		s.read(reorderTime, func() bool { return !slices.ContainsFunc(sizes, missing) })
		s.reports()
	}
	return nil
}

// insist reports whether one of many packets of a size arrives.
func (s *sizeSearch) insist(ctx context.Context, size int) (bool, error) {
	arrived := func() bool { _, ok := s.answered[size]; return ok }
	for range insistCopies {
		s.send(size)
		s.read(insistInterval, arrived)
	}
	if err := s.sync(ctx); err != nil {
		return false, err
	}
	s.read(reorderTime, arrived)
	s.reports()
	return arrived(), nil
}

// sync sends a small packet until it is answered: the receiver has then seen what was sent
// before.
func (s *sizeSearch) sync(ctx context.Context) error {
	delete(s.answered, smallestSize)
	answered := func() bool { _, ok := s.answered[smallestSize]; return ok }
	for began := time.Now(); !answered(); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Since(began) > s.k.Stall {
			return fmt.Errorf("no datagram of %d bytes to %s was answered within %s", smallestSize, s.k.Address, s.k.Stall)
		}
		s.send(smallestSize)
		s.read(sentinelInterval, answered)
	}
	return nil
}

// send sends a datagram. A report from a router makes the next call fail, whatever it sends,
// so it is tried again.
func (s *sizeSearch) send(size int) {
	b := sizedDatagram(s.k.Token, size, s.headers)
	for range sizeCopies {
		_, err := s.conn.Write(b)
		if err == nil {
			return
		}
		if tooBig(err) && reportsUnseen != "" && size <= s.k.MTU {
			s.out.Reported = true // the system learned it from a router
			return
		}
		s.reports()
	}
}

// tooLarge reports whether the system refuses a packet larger than the MTU of its device.
func (s *sizeSearch) tooLarge(size int) (refused bool, err error) {
	s.reports()
	_, err = s.conn.Write(sizedDatagram(s.k.Token, size, s.headers))
	if tooBig(err) {
		return true, nil
	}
	return false, err
}

// reports reads what routers told.
func (s *sizeSearch) reports() {
	mtu, reported := readReports(s.conn)
	if !reported {
		return
	}
	s.out.Reported = true
	if mtu > 0 && (s.out.ReportedMTU == 0 || mtu < s.out.ReportedMTU) {
		s.out.ReportedMTU = mtu
	}
}

// read takes answers for at most a time, or until enough says so.
func (s *sizeSearch) read(most time.Duration, enough func() bool) {
	buf := make([]byte, maxSize)
	for until := time.Now().Add(most); !enough() && time.Now().Before(until); {
		_ = s.conn.SetReadDeadline(until) // all kinds of connections used here have deadlines
		n, err := s.conn.Read(buf)
		if err != nil {
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				return
			}
			s.reports() // a router's report, which says nothing about answers
			continue
		}
		if n == answerLength && subtle.ConstantTimeCompare(buf[:pathTokenBytes], []byte(s.k.Token)) == 1 {
			size := int(binary.BigEndian.Uint32(buf[pathTokenBytes:]))
			s.answered[size] = buf[datagramHeader] == asExpected
			s.answers[size]++
		}
	}
}
