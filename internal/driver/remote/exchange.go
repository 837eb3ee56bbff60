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
)

// Unreachable is what is wrong with a network whose ends ran and never heard of each
// other.
type Unreachable struct{ Err error }

func (u *Unreachable) Error() string { return u.Err.Error() }
func (u *Unreachable) Unwrap() error { return u.Err }

// IsUnreachable reports whether the ends ran and never heard of each other.
func IsUnreachable(err error) bool {
	var u *Unreachable
	return errors.As(err, &u)
}

// CheckReachable has the agents of two ends, which are named for people, exchange a few bytes over
// TCP, and waits until they have. Its error is an *Unreachable where both ran and nothing
// came through.
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

// Exchange is a short one by which a path shows what is between its ends, over the very
// port of its trials.
type Exchange struct {
	Client, Server *Endpoint
	Listen, Dial   netip.AddrPort
	Want           Connectivity
}

// Connectivity is what may be between two ends.
type Connectivity int

// What may be between two ends.
const (
	OneConnection   Connectivity = iota // the server meets the client's own connection, its address translated at most
	TwoConnections                      // a relay ends the client's and begins its own
	AnyConnectivity                     // a network of the user's may do as it likes
)

// UnexpectedConnectivity is an exchange that shows something else between the ends than was wanted.
type UnexpectedConnectivity struct {
	Exchange
	Network string // tcp or udp
	Result  agent.Reachability
}

func (u *UnexpectedConnectivity) Error() string {
	return fmt.Sprintf("what is between %s and %s is not as expected (seen from %s, dialled from %s over %s)", u.Client.At, u.Server.At, u.Result.Seen, u.Result.From, u.Network)
}

// The waits for an answer: when a path has just been made, and later.
const (
	firstWait = 5 * time.Second
	laterWait = 2 * time.Second
)

// tries is how often an exchange that shows the unexpected is repeated: a relay
// meets the client's own port by chance once in tens of thousands, and translation
// has to change a port only where another connection has it.
const tries = 3

// UnreachableText is what is wrong with ends that ran and got no answer.
const UnreachableText = "the ends cannot reach each other (a firewall on a host?)"

// CheckExchange has the ends of a pair meet over TCP and UDP, and at every snapshot
// again over TCP. Its error is an *Unexpected where they met and what is between them is
// not what was wanted.
func (p *Path) CheckExchange(ctx context.Context, x Exchange) error {
	for _, network := range []string{"tcp", "udp"} {
		fits, met, err := x.try(ctx, network, firstWait)
		if err != nil {
			return fmt.Errorf("%s: %w", UnreachableText, err)
		}
		if !fits {
			return &UnexpectedConnectivity{x, network, met}
		}
	}
	if p.exchanges = append(p.exchanges, x); len(p.exchanges) > 1 || x.Want == AnyConnectivity {
		return nil
	}
	counter := pathspec.CounterName(p.B.At, "connections", "unlike")
	var unlike uint64
	p.Spec.AddReader(func(ctx context.Context, into driver.Counters) error {
		for _, x := range p.exchanges {
			fits, _, err := x.try(ctx, "tcp", laterWait)
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
	return nil
}

// ConnectionStep is what the server's host does with a connection: that the ends meet as they
// should shows it.
func (p *Path) ConnectionStep(kind, label string) pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(p.B.Place, kind, label), p.B.At+"/connections")
}

func (x Exchange) try(ctx context.Context, network string, wait time.Duration) (fits bool, met agent.Reachability, err error) {
	for range tries {
		if met, err = agent.CheckReachability(ctx, x.Client.Agent, x.Server.Agent, network, x.Listen, x.Dial, wait); err != nil {
			return false, met, err
		}
		if x.Want == AnyConnectivity || met.SameConnection() == (x.Want == OneConnection) {
			return true, met, nil
		}
	}
	return false, met, nil
}
