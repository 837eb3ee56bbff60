package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tare/internal/traffic"
)

// Trial is one trial between two agents. When one endpoint finishes, its report goes to the other,
// which may need it to know what is still to come: a UDP receiver cannot tell a lost datagram from
// one that was never sent. Every wait ends with the context that the trial was begun with.
type Trial struct {
	client, server *Client
	params         traffic.Params      // of the client
	listenAddr     netip.AddrPort      // where the server listens
	serverDone     chan endpointResult // receives the result of the server when that has ended
	standby        *standby            // nil without a second server
	shared         *shared             // nil if the server has one client
}

// endpointResult is how one endpoint of a trial ended.
type endpointResult struct {
	report traffic.Report
	err    error
}

// Begin opens the server's port. If the path leaves the choice of the port to the server, the
// client dials the port that the server got. Run, Close or Release ends the trial.
func Begin(ctx context.Context, client, server *Client, clientSide, serverSide traffic.Params) (*Trial, error) {
	to, err := netip.ParseAddrPort(clientSide.Address)
	if err != nil {
		return nil, fmt.Errorf("dial %q: %w", clientSide.Address, err)
	}
	port, err := server.Listen(ctx, serverSide)
	if err != nil {
		return nil, err
	}
	if to.Port() == 0 {
		clientSide.Address = netip.AddrPortFrom(to.Addr(), port).String()
	}
	t := &Trial{client: client, server: server, params: clientSide, serverDone: make(chan endpointResult, 1)}
	if on, err := netip.ParseAddrPort(serverSide.Address); err == nil {
		t.listenAddr = netip.AddrPortFrom(on.Addr(), port)
	}
	go server.reportTo(ctx, t.serverDone)
	return t, nil
}

// reportTo sends the result of a server when that has ended.
func (c *Client) reportTo(ctx context.Context, done chan<- endpointResult) {
	r, err := c.Report(ctx)
	done <- endpointResult{r, err}
}

// Endpoints returns the addresses and ports that identify the packets of the trial: the address
// that the server listens on, and the one that the client dials if it differs. The address to
// listen on may be unspecified.
func (t *Trial) Endpoints() []netip.AddrPort {
	var ends []netip.AddrPort
	if to, err := netip.ParseAddrPort(t.params.Address); err == nil {
		ends = append(ends, to)
	}
	if t.listenAddr.IsValid() && !slices.Contains(ends, t.listenAddr) {
		ends = append(ends, t.listenAddr)
	}
	if s := t.standby; s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.listenAddr.IsValid() && !slices.Contains(ends, s.listenAddr) {
			ends = append(ends, s.listenAddr)
		}
	}
	return ends
}

// Run runs the whole trial and returns the reports of both endpoints. If one endpoint fails, it
// cancels the other.
func (t *Trial) Run(ctx context.Context) (client, server traffic.Report, err error) {
	dialled := make(chan endpointResult, 1)
	go func() {
		r, err := t.dial(ctx)
		dialled <- endpointResult{r, err}
	}()
	var c, s endpointResult
	select {
	case c = <-dialled:
		t.shared.note(t.client, c.err)
		forwarded := forwardResult(ctx, c, t.servers())
		s = <-t.serverDone
		err = t.firstError(c, s, forwarded)
	case s = <-t.serverDone:
		forwarded := forwardResult(ctx, s, t.client)
		c = <-dialled
		err = t.firstError(s, c, forwarded)
	}
	return c.report, s.report, err
}

// Event tells the client that the event of the trial begins, or is over.
func (t *Trial) Event(ctx context.Context, over bool) error { return t.client.Event(ctx, over) }

// Open begins a trial that is run in slices. It returns when the client has connected and warmed
// up, with what the path then held, nil if that is unknown.
func (t *Trial) Open(ctx context.Context) (*traffic.Held, error) {
	return t.client.Open(ctx, t.params)
}

// Slice runs the opened trial for d. It returns what the path held at the end, nil if that is unknown.
func (t *Trial) Slice(ctx context.Context, d time.Duration) (*traffic.Held, error) {
	select {
	case s := <-t.serverDone:
		t.serverDone <- s
		if s.err != nil {
			return nil, s.err
		}
	default:
	}
	return t.client.Slice(ctx, d)
}

// Close ends a trial that was run in slices and returns the reports of both endpoints.
func (t *Trial) Close(ctx context.Context) (client, server traffic.Report, err error) {
	var c endpointResult
	c.report, c.err = t.client.Report(ctx)
	t.shared.note(t.client, c.err)
	forwarded := forwardResult(ctx, c, t.servers())
	s := <-t.serverDone
	return c.report, s.report, t.firstError(c, s, forwarded)
}

// Abort cancels the trial at both endpoints. Run or Close then returns their errors.
func (t *Trial) Abort(ctx context.Context) {
	// An agent that cannot be reached is killed later.
	_, _ = t.client.Abort(ctx), t.servers().Abort(ctx)
}

// Release cancels a trial that neither Run nor Close will end. It returns why an agent has exited,
// which then explains the error of the other agent, or nil.
func (t *Trial) Release(ctx context.Context) error {
	t.Abort(ctx)
	<-t.serverDone
	return t.agentErr()
}

func (t *Trial) agentErr() error {
	if t.standby != nil {
		if err := t.standby.agentErr(); err != nil {
			return err
		}
	} else if err := t.server.Err(); err != nil {
		return err
	}
	return t.client.Err()
}

// other is the endpoint of a trial that has not ended: its agent, those of two servers, or that of a server of several clients.
type other interface {
	Abort(ctx context.Context) error
	SendPeerReport(ctx context.Context, r traffic.Report) error
}

// servers are the servers of the trial.
func (t *Trial) servers() other {
	switch {
	case t.standby != nil:
		return t.standby
	case t.shared != nil:
		return t.shared
	}
	return t.server
}

// forwardResult passes the report of the endpoint that ended first to the other one, or cancels the
// other one if the first failed.
func forwardResult(ctx context.Context, first endpointResult, other other) error {
	if first.err != nil {
		return other.Abort(ctx)
	}
	return other.SendPeerReport(ctx, first.report)
}

// firstError returns the error of a trial: that of the endpoint that ended first, unless an agent has
// exited, which then caused the error of the other one. If the other endpoint failed by itself, too, its
// error is added: an endpoint that only finds the other gone may be the first to report.
func (t *Trial) firstError(a, b endpointResult, forwarded error) error {
	if gone := t.agentErr(); gone != nil && errors.Join(a.err, b.err) != nil {
		return traffic.PlusAttempts(gone, traffic.AttemptsOf(a.err, b.err))
	}
	if other, ok := errors.AsType[otherClientError](b.err); ok {
		return other.error // a follows from it
	}
	if errors.Is(b.err, errEndedEarly) {
		return a.err // b follows from it
	}
	if a.err != nil && b.err != nil && !strings.Contains(b.err.Error(), cancelledText) {
		return fmt.Errorf("%w; the other endpoint: %w", a.err, b.err)
	}
	for _, err := range []error{a.err, b.err, forwarded} {
		if err != nil {
			return err
		}
	}
	return nil
}
