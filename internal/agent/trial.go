package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"tare/internal/traffic"
)

// Trial is one trial between two agents. Whichever end finishes first, its report
// goes to the other, which may need it to know what is still to come: a receiver
// of datagrams cannot tell a lost one from one that was never sent. Every wait
// ends with the context it was begun with.
type Trial struct {
	client, server *Client
	params         traffic.Params      // the client's
	listenAddr     netip.AddrPort      // where the server listens
	serverDone     chan endpointResult // holds the server's once it has ended
}

// endpointResult is how one end of a trial ended.
type endpointResult struct {
	report traffic.Report
	err    error
}

// Begin opens the server's port. Where the path leaves the port to the server, the
// client is told to dial that one. What Begin began, Run, Close or Release ends.
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
	go func() {
		r, err := server.Report(ctx)
		t.serverDone <- endpointResult{r, err}
	}()
	return t, nil
}

// Endpoints are the addresses and ports by which packets of the trial can be told: what is
// listened on, and what is dialled where the path leads that to it. An address that is
// listened on may be unspecified.
func (t *Trial) Endpoints() []netip.AddrPort {
	var ends []netip.AddrPort
	if to, err := netip.ParseAddrPort(t.params.Address); err == nil {
		ends = append(ends, to)
	}
	if t.listenAddr.IsValid() && !slices.Contains(ends, t.listenAddr) {
		ends = append(ends, t.listenAddr)
	}
	return ends
}

// Run drives the whole trial at once and gives both ends' reports. If one end
// fails, the other is told to give up.
func (t *Trial) Run(ctx context.Context) (client, server traffic.Report, err error) {
	dialled := make(chan endpointResult, 1)
	go func() {
		r, err := t.client.Dial(ctx, t.params)
		dialled <- endpointResult{r, err}
	}()
	var c, s endpointResult
	select {
	case c = <-dialled:
		told := forwardResult(ctx, c, t.server)
		s = <-t.serverDone
		err = t.firstError(c, s, told)
	case s = <-t.serverDone:
		told := forwardResult(ctx, s, t.client)
		c = <-dialled
		err = t.firstError(s, c, told)
	}
	return c.report, s.report, err
}

// Open begins a trial that is driven in slices: it returns when the client is
// connected and warm.
func (t *Trial) Open(ctx context.Context) error { return t.client.Open(ctx, t.params) }

// Slice drives the opened trial for d.
func (t *Trial) Slice(ctx context.Context, d time.Duration) error {
	select {
	case s := <-t.serverDone:
		t.serverDone <- s
		if s.err != nil {
			return s.err
		}
	default:
	}
	return t.client.Slice(ctx, d)
}

// Close ends a trial that was driven in slices and gives both ends' reports.
func (t *Trial) Close(ctx context.Context) (client, server traffic.Report, err error) {
	var c endpointResult
	c.report, c.err = t.client.Report(ctx)
	told := forwardResult(ctx, c, t.server)
	s := <-t.serverDone
	return c.report, s.report, t.firstError(c, s, told)
}

// Abort has both ends give up. Run or Close then return, with the ends' reasons.
func (t *Trial) Abort(ctx context.Context) {
	// Whoever cannot be told is ended by force.
	_, _ = t.client.Abort(ctx), t.server.Abort(ctx)
}

// Release gives up a trial that Run or Close will not end. It says which agent has
// gone, which is then what the other one ran into, or nil.
func (t *Trial) Release(ctx context.Context) error {
	t.Abort(ctx)
	<-t.serverDone
	return t.agentErr()
}

func (t *Trial) agentErr() error {
	if err := t.server.Err(); err != nil {
		return err
	}
	return t.client.Err()
}

// forwardResult hands the report of the end that was first to the other, or has the other
// give up.
func forwardResult(ctx context.Context, first endpointResult, other *Client) error {
	if first.err != nil {
		return other.Abort(ctx)
	}
	return other.SendPeerReport(ctx, first.report)
}

// firstError chooses among the errors of a trial. The one that came first is what
// happened, unless an agent is gone: then the other end only felt it.
func (t *Trial) firstError(a, b endpointResult, told error) error {
	if gone := t.agentErr(); gone != nil && errors.Join(a.err, b.err) != nil {
		return gone
	}
	for _, err := range []error{a.err, b.err, told} {
		if err != nil {
			return err
		}
	}
	return nil
}
