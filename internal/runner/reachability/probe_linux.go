package reachability

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/traffic"
)

// mostPending is how many attempts may be without an answer; then the oldest is given up. It is longer than a round trip
// of any lab, and shorter than the kernel waits to repeat a SYN.
const mostPending = 500

// tag is in every request, so that only those of this program are answered.
type tag [8]byte

// request is a request of HTTP/1.1 (RFC 9112) with a tag and the number of its attempt. All have the same length.
func request(t tag, attempt uint64) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: tare\r\n\r\n", target(t, attempt))
}

// response is what answers a request: status 200, with what was asked for as its content.
func response(t tag, attempt uint64) string {
	content := target(t, attempt)
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(content), content)
}

func target(t tag, attempt uint64) string { return fmt.Sprintf("/%x/%016x", t, attempt) }

// attemptOf returns the number of the attempt in a request with a tag.
func attemptOf(text []byte, t tag) (uint64, bool) {
	fixed := []byte(request(t, 0))
	at := bytes.Index(fixed, []byte("/0000000000000000 ")) + 1
	if at < 1 || len(text) != len(fixed) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[at:at+16]), 16, 64)
	return n, err == nil && string(text) == request(t, n)
}

// start begins to listen and to connect.
func (p *Probe) start(client, server driver.InStack, listen, dial []netip.AddrPort) {
	p.finished = make(chan struct{})
	go func() {
		defer close(p.finished)
		p.result.err = p.probe(client, server, listen, dial)
	}()
}

func (p *Probe) probe(client, server driver.InStack, listen, dial []netip.AddrPort) error {
	if client == nil || server == nil {
		return errOtherStack
	}
	at, to, err := driver.Endpoint{Name: "the server", Listen: listen, Dial: dial}.Reach(p.ipv6)
	if err != nil {
		return err
	}
	within := limit()
	ctx, cancel := context.WithTimeoutCause(p.ctx, within, fmt.Errorf("the server at %s did not answer within %s of its set-up", to, within))
	defer cancel()
	s := &listener{accepted: map[uint64]*net.TCPConn{}}
	if _, err := rand.Read(s.tag[:]); err != nil {
		return fmt.Errorf("generate a tag: %w", err)
	}
	p.result.ends.server = s
	if err := server(func() error { return s.bind(at) }); err != nil {
		return fmt.Errorf("listen in the sandbox of the server: %w", err)
	}
	if to.Port() == 0 {
		to = netip.AddrPortFrom(to.Addr(), s.port)
	}
	listening := make(chan error, 1)
	if p.late == 0 {
		listening <- s.listen()
	} else {
		go func() {
			select {
			case <-time.After(p.late):
				listening <- s.listen()
			case <-ctx.Done():
				listening <- nil
			}
		}()
	}
	c := connector{to: to, tag: s.tag}
	err = client(func() error { return c.run(ctx) })
	c.closeOthers()
	p.result.seen = c.seen
	err = cmp.Or(<-listening, err)
	if err != nil {
		return err
	}
	p.result.ends.client, err = c.take()
	p.result.ends.attempt, p.result.ends.others = c.won, c.others
	return err
}

// listener is the server's port. It answers a request with its tag, and then sends everything back.
type listener struct {
	tag  tag
	fd   int // bound, until it listens
	port uint16

	mu       sync.Mutex
	at       net.Listener
	closed   bool
	accepted map[uint64]*net.TCPConn // by the number of the attempt
}

// bind binds a socket to the port of an address, on all addresses of the stack: those of the mode may come later.
func (s *listener) bind(at netip.AddrPort) error {
	family, local := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(at.Port())})
	if at.Addr().Is6() {
		family, local = unix.AF_INET6, &unix.SockaddrInet6{Port: int(at.Port())}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, local)
	}
	var own unix.Sockaddr
	if err == nil {
		own, err = unix.Getsockname(fd)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("bind port %d: %w", at.Port(), err), unix.Close(fd))
	}
	switch a := own.(type) {
	case *unix.SockaddrInet4:
		s.port = uint16(a.Port) //nolint:gosec // a port
	case *unix.SockaddrInet6:
		s.port = uint16(a.Port) //nolint:gosec // a port
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fd = fd
	return nil
}

// listen opens the bound port.
func (s *listener) listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if err := unix.Listen(s.fd, mostPending); err != nil {
		return fmt.Errorf("listen at port %d: %w", s.port, err)
	}
	file := os.NewFile(uintptr(s.fd), "listener")
	s.fd = 0
	at, err := net.FileListener(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("listen at port %d: %w", s.port, err)
	}
	s.at = at
	go s.serve(at)
	return nil
}

func (s *listener) serve(at net.Listener) {
	for {
		c, err := at.Accept()
		if err != nil {
			return // it was closed
		}
		go s.answer(c.(*net.TCPConn))
	}
}

// answer answers a request that has the tag, keeps its connection, and sends back what arrives on it then, until it is closed.
func (s *listener) answer(c *net.TCPConn) {
	text := make([]byte, len(request(s.tag, 0)))
	_, err := io.ReadFull(c, text)
	attempt, ours := attemptOf(text, s.tag)
	if err != nil || !ours {
		c.Close()
		return
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		c.Close()
		return
	}
	s.accepted[attempt] = c
	s.mu.Unlock()
	if _, err := io.WriteString(c, response(s.tag, attempt)); err != nil {
		return // the client has closed it
	}
	buf := make([]byte, messageSize)
	for {
		n, err := c.Read(buf)
		if err == nil {
			_, err = c.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (s *listener) connection(attempt uint64) *net.TCPConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted[attempt]
}

func (s *listener) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.fd != 0 {
		_ = unix.Close(s.fd) // nothing was sent over it
		s.fd = 0
	}
	if s.at != nil {
		s.at.Close()
	}
	for _, c := range s.accepted {
		c.Close()
	}
}

// attempt is a connection that is tried.
type attempt struct {
	fd     int
	number uint64
	asked  bool // established, and the request sent
	got    int  // bytes of the answer
}

// connector opens a connection each Step, until one is answered. It runs on one thread, inside the client's stack.
type connector struct {
	to      netip.AddrPort
	tag     tag
	pending []*attempt
	seen    seen
	won     uint64
	winner  int // file descriptor, 0 for none
	others  int // attempts that were pending when the winner was answered
}

func (c *connector) run(ctx context.Context) error {
	next := time.Now()
	for c.winner == 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if now := time.Now(); !now.Before(next) {
			if err := c.open(); err != nil {
				return err
			}
			next = now.Add(Step)
		}
		if err := c.poll(time.Until(next)); err != nil {
			return err
		}
	}
	return nil
}

// open begins another attempt. That the network is not there yet is no error.
func (c *connector) open() error {
	family, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(c.to.Port()), Addr: c.to.Addr().As16()})
	if c.to.Addr().Is4() {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: int(c.to.Port()), Addr: c.to.Addr().As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return fmt.Errorf("open a socket in the sandbox of the client: %w", err)
	}
	if c.seen.attempts++; c.seen.attempts == 1 {
		c.seen.first = time.Now()
	}
	if err := unix.Connect(fd, to); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return unix.Close(fd)
	}
	c.pending = append(c.pending, &attempt{fd: fd, number: uint64(c.seen.attempts)}) //nolint:gosec // counted up
	if len(c.pending) > mostPending {
		_ = unix.Close(c.pending[0].fd)
		c.pending = c.pending[1:]
	}
	return nil
}

// poll waits for an answer of an attempt, at most so long.
func (c *connector) poll(wait time.Duration) error {
	fds := make([]unix.PollFd, len(c.pending))
	for i, a := range c.pending {
		fds[i] = unix.PollFd{Fd: int32(a.fd), Events: unix.POLLOUT} //nolint:gosec // a file descriptor
		if a.asked {
			fds[i].Events = unix.POLLIN
		}
	}
	long := unix.NsecToTimespec(max(0, wait).Nanoseconds())
	n, err := unix.Ppoll(fds, &long, nil)
	now := time.Now()
	switch {
	case errors.Is(err, unix.EINTR) || err == nil && n == 0:
		return nil
	case err != nil:
		return fmt.Errorf("wait for an answer: %w", err)
	}
	var left []*attempt
	for i, a := range c.pending {
		if fds[i].Revents == 0 || c.winner == 0 && c.proceed(a, now) {
			left = append(left, a)
			continue
		}
		if a.fd != c.winner {
			_ = unix.Close(a.fd) // an attempt that failed
		}
	}
	c.pending = left
	return nil
}

// proceed goes on with an attempt that has an event, and reports whether it is still pending.
func (c *connector) proceed(a *attempt, now time.Time) bool {
	if !a.asked {
		if code, err := unix.GetsockoptInt(a.fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || code != 0 {
			return false
		}
		if c.seen.connect.IsZero() {
			c.seen.connect = now
		}
		text := request(c.tag, a.number)
		n, err := unix.Write(a.fd, []byte(text))
		a.asked = err == nil && n == len(text)
		return a.asked
	}
	want := response(c.tag, a.number)[a.got:]
	buf := make([]byte, len(want))
	n, err := unix.Read(a.fd, buf)
	if err != nil || n <= 0 {
		return errors.Is(err, unix.EAGAIN)
	}
	if string(buf[:n]) != want[:n] {
		return false // not the server of this set-up
	}
	if a.got == 0 {
		c.seen.answered = now
	}
	if a.got += n; n < len(want) {
		return true
	}
	c.seen.whole, c.winner, c.won = now, a.fd, a.number
	return false
}

// closeOthers closes all attempts but the one that was answered.
func (c *connector) closeOthers() {
	c.others = len(c.pending)
	for _, a := range c.pending {
		_ = unix.Close(a.fd) // nothing is expected of it
	}
	c.pending = nil
}

// take returns the connection that was answered.
func (c *connector) take() (*net.TCPConn, error) {
	file := os.NewFile(uintptr(c.winner), "connection")
	conn, err := net.FileConn(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("take over the connection that was answered: %w", err)
	}
	return conn.(*net.TCPConn), nil
}

// ends are the two ends of the connection that was answered first.
type ends struct {
	client  *net.TCPConn
	server  *listener
	attempt uint64
	others  int // attempts that were closed when this one was answered
}

// otherSegments is the most packets that one end of such an attempt may still send during the exchange: that of the client SYN, ACK, a request,
// FIN, and RST for a late answer. Hundreds of them may wait for a neighbour to be resolved, and a busy machine answers them late.
const otherSegments = 5

func (e ends) exchange(ctx context.Context) (client, server traffic.Report, err error) {
	if e.client == nil {
		return client, server, errNoPair
	}
	far := e.server.connection(e.attempt)
	if far == nil {
		return client, server, fmt.Errorf("the connection that was answered is not one of the server (a bug)")
	}
	defer context.AfterFunc(ctx, func() { _ = e.client.SetDeadline(time.Unix(1, 0)) })()
	before := [2]traffic.TCP{}
	for i, c := range []*net.TCPConn{e.client, far} {
		if before[i], err = counted(c); err != nil {
			return client, server, err
		}
	}
	size := messageSize * (1 + e.others/messages) // so that they are much more than what the other attempts may add
	out, in := make([]byte, size), make([]byte, size)
	for range messages {
		_, err = e.client.Write(out)
		if err == nil {
			_, err = io.ReadFull(e.client, in)
		}
		if err != nil {
			return client, server, fmt.Errorf("exchange messages over the first connection: %w", cmp.Or(context.Cause(ctx), err))
		}
	}
	for i, c := range []*net.TCPConn{e.client, far} {
		after, err := counted(c)
		if err != nil {
			return client, server, err
		}
		r := traffic.Report{End: result.End{Sent: int64(messages * size), Received: int64(messages * size)}, Messages: messages,
			TCP: traffic.TCP{Wire: after.Wire - before[i].Wire, Segments: after.Segments - before[i].Segments}}
		r.TCP.Wire += uint64(e.others * len(response(tag{}, 0))) //nolint:gosec // a request is shorter than its response
		r.TCP.Segments += uint64(e.others * otherSegments)       //nolint:gosec // not negative
		if i == 0 {
			client = r
		} else {
			server = r
		}
	}
	return client, server, nil
}

// counted is what the kernel has counted of a connection.
func counted(c *net.TCPConn) (t traffic.TCP, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return t, err
	}
	var info *unix.TCPInfo
	var failed error
	if err := raw.Control(func(fd uintptr) { info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); err != nil {
		return t, err
	}
	if failed != nil {
		return t, fmt.Errorf("read the kernel's counts of the connection: %w", failed)
	}
	return traffic.TCP{Wire: info.Bytes_sent, Segments: uint64(info.Segs_out)}, nil
}

// close resets the connection and closes the port, so that nothing of either is left when the next one listens at it.
func (e ends) close() {
	if e.client != nil {
		_ = e.client.SetLinger(0)
		e.client.Close()
	}
	if e.server != nil {
		e.server.close()
	}
}
