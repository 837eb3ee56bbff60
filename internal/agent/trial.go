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
	params         traffic.Params // the client's
	at             netip.AddrPort // where the server listens
	served         chan answer    // holds the server's once it has ended
}

// answer is how one end of a trial ended.
type answer struct {
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
	t := &Trial{client: client, server: server, params: clientSide, served: make(chan answer, 1)}
	if on, err := netip.ParseAddrPort(serverSide.Address); err == nil {
		t.at = netip.AddrPortFrom(on.Addr(), port)
	}
	go func() {
		r, err := server.Report(ctx)
		t.served <- answer{r, err}
	}()
	return t, nil
}

// Ends are the addresses and ports by which packets of the trial can be told: what is
// listened on, and what is dialled where the path leads that to it. An address that is
// listened on may be unspecified.
func (t *Trial) Ends() []netip.AddrPort {
	var ends []netip.AddrPort
	if to, err := netip.ParseAddrPort(t.params.Address); err == nil {
		ends = append(ends, to)
	}
	if t.at.IsValid() && !slices.Contains(ends, t.at) {
		ends = append(ends, t.at)
	}
	return ends
}

// Run drives the whole trial at once and gives both ends' reports. If one end
// fails, the other is told to give up.
func (t *Trial) Run(ctx context.Context) (client, server traffic.Report, err error) {
	dialled := make(chan answer, 1)
	go func() {
		r, err := t.client.Dial(ctx, t.params)
		dialled <- answer{r, err}
	}()
	var c, s answer
	select {
	case c = <-dialled:
		told := pass(ctx, c, t.server)
		s = <-t.served
		err = t.first(c, s, told)
	case s = <-t.served:
		told := pass(ctx, s, t.client)
		c = <-dialled
		err = t.first(s, c, told)
	}
	return c.report, s.report, err
}

// Open begins a trial that is driven in slices: it returns when the client is
// connected and warm.
func (t *Trial) Open(ctx context.Context) error { return t.client.Open(ctx, t.params) }

// Slice drives the opened trial for d.
func (t *Trial) Slice(ctx context.Context, d time.Duration) error {
	select {
	case s := <-t.served:
		t.served <- s
		if s.err != nil {
			return s.err
		}
	default:
	}
	return t.client.Slice(ctx, d)
}

// Close ends a trial that was driven in slices and gives both ends' reports.
func (t *Trial) Close(ctx context.Context) (client, server traffic.Report, err error) {
	var c answer
	c.report, c.err = t.client.Report(ctx)
	told := pass(ctx, c, t.server)
	s := <-t.served
	return c.report, s.report, t.first(c, s, told)
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
	<-t.served
	return t.gone()
}

func (t *Trial) gone() error {
	if err := t.server.Gone(); err != nil {
		return err
	}
	return t.client.Gone()
}

// pass hands the report of the end that was first to the other, or has the other
// give up.
func pass(ctx context.Context, first answer, other *Client) error {
	if first.err != nil {
		return other.Abort(ctx)
	}
	return other.Ended(ctx, first.report)
}

// first chooses among the errors of a trial. The one that came first is what
// happened, unless an agent is gone: then the other end only felt it.
func (t *Trial) first(a, b answer, told error) error {
	if gone := t.gone(); gone != nil && errors.Join(a.err, b.err) != nil {
		return gone
	}
	for _, err := range []error{a.err, b.err, told} {
		if err != nil {
			return err
		}
	}
	return nil
}
