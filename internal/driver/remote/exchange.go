package remote

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/timelimit"
)

// Unreachable is the error that both endpoints ran but never received anything from each
// other.
type Unreachable struct{ Err error }

func (u *Unreachable) Error() string { return u.Err.Error() }
func (u *Unreachable) Unwrap() error { return u.Err }

// IsUnreachable reports whether err contains an *Unreachable.
func IsUnreachable(err error) bool {
	var u *Unreachable
	return errors.As(err, &u)
}

// CheckReachable lets the agents of two endpoints exchange a few bytes over TCP. from and
// to name them in errors. It returns an *Unreachable if both ran and nothing arrived within
// wait.
func CheckReachable(ctx context.Context, client, server *agent.Client, from, to string, listen, dial netip.AddrPort, wait time.Duration) error {
	_, err := agent.CheckReachability(ctx, client, server, "tcp", listen, dial, wait)
	if gone := errors.Join(client.Err(), server.Err()); gone != nil {
		return gone
	}
	if err != nil {
		return &Unreachable{fmt.Errorf("%s cannot reach %s: %w", from, to, err)}
	}
	return nil
}

// Exchange is a short exchange that shows what is between the endpoints of a path, over the
// port of its trials.
type Exchange struct {
	Client, Server *Endpoint
	Listen, Dial   netip.AddrPort
	Want           Connectivity
	// Intercepted is at which ends proxies intercept connections over TCP, which then replaces Want for these.
	Intercepted agent.Intercepted
}

// Connectivity is what may be between two endpoints.
type Connectivity int

// The kinds of connectivity.
const (
	OneConnection   Connectivity = iota // the server sees the client's own connection, possibly with a translated address
	TwoConnections                      // a relay terminates the client's connection and opens its own
	AnyConnectivity                     // unknown, as on a user's network
)

// UnexpectedConnectivity is the error that an exchange showed another connectivity than
// expected.
type UnexpectedConnectivity struct {
	Exchange
	Network string // tcp or udp
	Result  agent.Reachability
}

func (u *UnexpectedConnectivity) Error() string {
	return fmt.Sprintf("the connection between %s and %s is not as expected (server saw %s, client dialled from %s over %s)", u.Client.At, u.Server.At, u.Result.Seen, u.Result.From, u.Network)
}

// The timeouts of an exchange: right after the path was set up, and later.
func setupTimeout() time.Duration    { return timelimit.Scaled(5 * time.Second) }
func snapshotTimeout() time.Duration { return timelimit.Scaled(2 * time.Second) }

// exchangeAttempts is the number of attempts of an exchange with an unexpected result: a relay uses
// the client's port by chance once in tens of thousands, and address translation changes a
// port only if another connection has it.
const exchangeAttempts = 3

// UnreachableText is the error text for endpoints that ran and got no reply.
const UnreachableText = "client and server cannot reach each other (check the firewalls of the hosts)"

// Watch reads the counters of the network stacks of an exchange before it.
func (p *Path) Watch(ctx context.Context, x Exchange) *driver.Watch {
	var own pathspec.Path
	own.AddPairPorts(x.Client.Spec(), x.Server.Spec(), nil, nil)
	own.AddStack(p.A.Place)
	own.AddStack(p.B.Place)
	return driver.WatchStacks(ctx, own.Stacks(), own.Pairs())
}

// CheckExchange lets the endpoints of a pair exchange data over TCP and UDP, and repeats
// the TCP exchange at every snapshot. It returns an *UnexpectedConnectivity if the result
// is not what x expects.
func (p *Path) CheckExchange(ctx context.Context, x Exchange) error {
	watch := p.Watch(ctx, x)
	for _, network := range []string{"tcp", "udp"} {
		fits, met, err := p.exchange(ctx, x, network, setupTimeout())
		if err != nil {
			return fmt.Errorf("%s: %w", UnreachableText, driver.WithCause(err, watch.Cause(ctx, 0)))
		}
		if !fits {
			return &UnexpectedConnectivity{x, network, met}
		}
	}
	p.checkAtSnapshots(x)
	return nil
}

// checkAtSnapshots repeats an exchange over TCP at every snapshot, and requires its result,
// unless any will do.
func (p *Path) checkAtSnapshots(x Exchange) {
	if p.exchanges = append(p.exchanges, x); len(p.exchanges) > 1 || x.Want == AnyConnectivity && !x.intercepted() {
		return
	}
	counter := pathspec.CounterName(p.B.At, "connections", "unlike")
	var unlike uint64
	p.Spec.AddReader(func(ctx context.Context, into driver.Counters) error {
		for _, x := range p.exchanges {
			fits, _, err := p.exchange(ctx, x, "tcp", snapshotTimeout())
			if err != nil {
				return err
			}
			if !fits {
				unlike++
			}
		}
		into[counter] = unlike
		return nil
	})
	p.Spec.AddRules(driver.Rule{Counter: counter, Expect: driver.NoMatch})
}

// Found is what an exchange found between two endpoints.
type Found struct {
	TCP, UDP Connectivity // OneConnection or TwoConnections
	NoUDP    error        // why no datagram arrives, nil if they do
}

// FindConnectivity lets the endpoints of a pair that is not yet part of the path exchange
// data, and returns what is between them. It returns an *Unreachable if both ran and nothing
// arrived over TCP.
func (p *Path) FindConnectivity(ctx context.Context, x Exchange) (found Found, err error) {
	watch := p.Watch(ctx, x)
	kind := func(network string) (Connectivity, error) {
		x.Want = OneConnection
		fits, _, err := p.exchange(ctx, x, network, setupTimeout())
		if gone := errors.Join(x.Client.Agent.Err(), x.Server.Agent.Err()); gone != nil {
			return OneConnection, gone
		}
		if err == nil && !fits {
			return TwoConnections, nil
		}
		if err != nil {
			err = &Unreachable{driver.WithCause(err, watch.Cause(ctx, 0))}
		}
		return OneConnection, err
	}
	if found.TCP, err = kind("tcp"); err != nil {
		return found, err
	}
	found.UDP, err = kind("udp")
	if IsUnreachable(err) {
		found.NoUDP, err = err, nil
	}
	return found, err
}

// AddFoundPair adds a pair whose connectivity FindConnectivity has found: x.Want is that of
// TCP.
func (p *Path) AddFoundPair(x Exchange) {
	p.Spec.AddPairPorts(x.Client.Spec(), x.Server.Spec(), []netip.AddrPort{x.Listen}, []netip.AddrPort{x.Dial})
	p.checkAtSnapshots(x)
}

// Foreign returns how many connections and datagrams of others arrived at the ports of exchanges
// since the last call.
func (p *Path) Foreign() int64 { return p.foreign.Swap(0) }

// ConnectionStep returns a step for what the server's host does with a connection; it is
// verified by the exchanges.
func (p *Path) ConnectionStep(kind, label string) pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(p.B.Place, kind, label), p.B.At+"/connections")
}

// exchange runs an exchange, and repeats it if its result is unexpected.
func (p *Path) exchange(ctx context.Context, x Exchange, network string, wait time.Duration) (fits bool, met agent.Reachability, err error) {
	for range exchangeAttempts {
		if network == "tcp" && x.intercepted() {
			met, err = agent.FindProxies(ctx, x.Client.Agent, x.Server.Agent, x.Listen, x.Dial, wait)
		} else {
			met, err = agent.CheckReachability(ctx, x.Client.Agent, x.Server.Agent, network, x.Listen, x.Dial, wait)
		}
		p.foreign.Add(int64(met.Refused))
		if err != nil {
			return false, met, err
		}
		if x.fits(network, met) {
			return true, met, nil
		}
	}
	return false, met, nil
}

// intercepted reports whether proxies intercept connections over TCP at any end.
func (x Exchange) intercepted() bool { return x.Intercepted != agent.Intercepted{} }

// fits reports whether an exchange shows what is expected.
func (x Exchange) fits(network string, met agent.Reachability) bool {
	if network == "tcp" && x.intercepted() {
		return met.Intercepted == x.Intercepted
	}
	return x.Want == AnyConnectivity || met.SameConnection() == (x.Want == OneConnection)
}
