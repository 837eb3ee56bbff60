package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// read opens a lab host as a machine of which only the launcher is known.
func read(t *testing.T, l *lab.Lab, h *lab.Host) *remote.Host {
	t.Helper()
	r := must.Get(remote.Open(t.Context(), transport.Local{Start: h.NS.Start}, l.Spec.Claim.ID, h.Name, h.Addr[0]))(t)
	t.Cleanup(func() { must.Do(t, r.Close()) })
	return r
}

// gone waits until a host's agent is known to have exited.
func gone(h *remote.Host) bool {
	for until := time.Now().Add(timelimit.Scaled(10 * time.Second)); h.Monitor.Err() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			return false
		}
	}
	return true
}

// A host's devices and addresses are found by its agent, whatever started it.
func TestHost(t *testing.T) {
	l := drivertest.Lab(t, nil)
	a := read(t, l, l.A)
	if own, err := a.OwnAddress(t.Context()); err != nil || own != l.A.Addr[0] {
		t.Errorf("its own address: %s, %v", own, err)
	}
	if !a.HasAddress(t.Context(), l.A.Addr[0]) || a.HasAddress(t.Context(), l.B.Addr[0]) {
		t.Error("its addresses are another's")
	}
	if at := a.ListenAddress(t.Context(), l.B.Addr[0]); at != netip.IPv4Unspecified() {
		t.Errorf("what passes an address on listens at %s", at)
	}
	if to, err := a.DeviceToward(t.Context(), l.B.Addr[0]); err != nil || to.Name != lab.Underlay {
		t.Errorf("toward the other: %+v, %v", to, err)
	}
	var same *remote.SameMachine
	if _, err := a.DeviceToward(t.Context(), netip.MustParseAddr("127.0.0.1")); !errors.As(err, &same) {
		t.Errorf("toward itself: %v", err)
	}
	if first, second := a.NextPort(), a.NextPort(); first != pathspec.FirstPort || second != first+1 {
		t.Errorf("ports %d and %d", first, second)
	}
	counters, err := a.Stack.Links(t.Context(), nil)
	if _, ok := counters[lab.Underlay]; err != nil || !ok {
		t.Errorf("counters of %v, %v", counters, err)
	}
	if kind, facts, err := a.Stack.Describe(t.Context(), lab.Underlay); err != nil || kind == "" || len(facts) < 2 {
		t.Errorf("it is %q with %v, %v", kind, facts, err)
	}
	if _, _, err := a.Stack.Describe(t.Context(), "none"); err == nil {
		t.Error("a device that is not there is described")
	}
}

// Two processes on two hosts form a path whose link and direct connection are verified; a
// relay is expected in vain.
func TestPath(t *testing.T) {
	l := drivertest.Lab(t, nil)
	a, b := read(t, l, l.A), read(t, l, l.B)
	noted := &pathspec.Path{Mode: "host", PairCount: 1}
	p := remote.Path{Spec: noted, A: a, B: b}
	from := &remote.Endpoint{Place: a.Place, Name: "client", Client: true, Host: a, Launcher: a.Launcher, Agent: a.Monitor}
	to := &remote.Endpoint{Place: b.Place, Name: "server", Host: b, Launcher: b.Launcher, Agent: b.Monitor}
	at, err := p.ServerAddress(t.Context())
	if err != nil || at != l.B.Addr[0] {
		t.Fatalf("reached at %s, %v", at, err)
	}
	must.Do(t, p.AddUnderlay(t.Context(), []pathspec.Step{pathspec.ProcessStep(from.Place)}, []pathspec.Step{pathspec.ProcessStep(to.Place)}))
	on := netip.AddrPortFrom(at, pathspec.FirstPort)
	x := remote.Exchange{Client: from, Server: to, Listen: on, Dial: on}
	must.Do(t, p.AddPair(t.Context(), x))
	x.Want = remote.TwoConnections
	var unexpected *remote.UnexpectedConnectivity
	if err := p.CheckExchange(t.Context(), x); !errors.As(err, &unexpected) || unexpected.Network != "tcp" || !unexpected.Result.SameConnection() {
		t.Errorf("a relay that is not there: %v", err)
	}
	if err := remote.CheckReachable(t.Context(), a.Monitor, b.Monitor, "a", "b", on, netip.AddrPortFrom(at, pathspec.FirstPort+1), 100*time.Millisecond); !remote.IsUnreachable(err) {
		t.Errorf("where nothing listens: %v", err)
	}
	before := must.Get(noted.Snapshot(t.Context()))(t)
	if n, ok := before["b/connections.unlike"]; !ok || n != 0 {
		t.Errorf("counters %v", before)
	}
	after := must.Get(noted.Snapshot(t.Context()))(t)
	if after["b/connections.unlike"] != 0 || after["a/"+lab.Underlay+".tx_bytes"] <= before["a/"+lab.Underlay+".tx_bytes"] {
		t.Errorf("counters %v and then %v", before, after)
	}
	top := must.Get(noted.Topology())(t)
	var labels []string
	for _, n := range top.Nodes {
		labels = append(labels, n.Label)
	}
	must.EqualFor(t, fmt.Sprintf("drawn with %v", labels), 2, strings.Count(strings.Join(labels, " "), lab.Underlay))
}

// The paths of a run share the monitors of the hosts, which end with the last path.
func TestSessions(t *testing.T) {
	l := drivertest.Lab(t, nil)
	var opened []int
	var ended []string
	broken := errors.New("broken")
	x := remote.NewSessions(2, func(ctx context.Context, run string, i int) (*remote.Host, error) {
		if opened = append(opened, i); i == 1 && run == "bad" {
			return nil, broken
		}
		return remote.Open(ctx, transport.Local{Start: l.A.NS.Start}, l.Spec.Claim.ID, "a", l.A.Addr[0])
	}, func(_ context.Context, run string) error {
		ended = append(ended, run)
		return nil
	})
	enter := func(run string, hosts ...int) *remote.Session {
		t.Helper()
		s := must.Get(x.Enter(t.Context(), run, hosts...))(t)
		return s
	}
	first, second := enter("one", 0), enter("one", 0, 1)
	if first != second || first.Host(0) == nil || first.NextNumber() != 1 || second.NextNumber() != 2 || !slices.Equal(opened, []int{0, 1}) {
		t.Errorf("%p %p, opened %v", first, second, opened)
	}
	if err := x.Leave(t.Context(), first); err != nil || first.Host(0).Monitor.Err() != nil || len(ended) > 0 {
		t.Errorf("with the first: %v, ended %v", err, ended)
	}
	// A monitor that has exited is started again.
	must.Do(t, first.Host(1).Close())
	if !gone(first.Host(1)) {
		t.Error("it is still there")
	}
	enter("one", 1)
	if !slices.Equal(opened, []int{0, 1, 1}) {
		t.Errorf("opened %v", opened)
	}
	for range 2 {
		must.Equal(t, nil, x.Leave(t.Context(), second))
	}
	if !gone(second.Host(0)) || !slices.Equal(ended, []string{"one"}) {
		t.Errorf("with the last: ended %v", ended)
	}
	if _, err := x.Enter(t.Context(), "bad", 0, 1); !errors.Is(err, broken) || !slices.Equal(ended, []string{"one", "bad"}) {
		t.Errorf("%v, ended %v", err, ended)
	}
}

// A failed exchange tells where its packets were dropped, as far as the hosts' agents can see.
func TestExchangeCause(t *testing.T) {
	l := drivertest.Lab(t, nil)
	a, b := read(t, l, l.A), read(t, l, l.B)
	from := &remote.Endpoint{Place: a.Place, Name: "client", Client: true, Host: a, Launcher: a.Launcher, Agent: a.Monitor}
	to := &remote.Endpoint{Place: b.Place, Name: "server", Host: b, Launcher: b.Launcher, Agent: b.Monitor}
	p := remote.Path{Spec: &pathspec.Path{Mode: "host", PairCount: 1}, A: a, B: b}
	on := netip.AddrPortFrom(l.B.Addr[0], pathspec.FirstPort)
	t.Setenv(timelimit.Variable, "1") // it fails in any case
	for name, c := range map[string]struct{ rules, want string }{
		"a filter refuses": {chain("input", "meta l4proto tcp reject with tcp reset"), "connection refused"},
		"a filter drops":   {chain("input", "meta l4proto tcp drop"), "dropped on b by the packet filter"},
	} {
		t.Run(name, func(t *testing.T) {
			rules(t, l.B.NS, "flush ruleset\n"+c.rules)
			_, err := p.FindConnectivity(t.Context(), remote.Exchange{Client: from, Server: to, Listen: on, Dial: on})
			if !remote.IsUnreachable(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A path counts the connections of others that its exchanges refused, and works despite them.
func TestForeignConnections(t *testing.T) {
	l := drivertest.Lab(t, nil)
	a, b := read(t, l, l.A), read(t, l, l.B)
	p := remote.Path{Spec: &pathspec.Path{Mode: "host", PairCount: 1}, A: a, B: b}
	on := netip.AddrPortFrom(l.B.Addr[0], pathspec.FirstPort)
	ctx, cancel := context.WithTimeout(t.Context(), timelimit.Scaled(30*time.Second))
	defer cancel()
	hammering := make(chan error, 1)
	go func() {
		hammering <- l.A.NS.Do(func() error {
			for ctx.Err() == nil { // the port is open only during an exchange
				if c, err := net.Dial("tcp", on.String()); err == nil {
					_, _ = c.Write([]byte("GET / HTTP/1.1\r\n\r\n                    "))
					c.Close()
				}
			}
			return nil
		})
	}()
	x := remote.Exchange{
		Client: &remote.Endpoint{Place: a.Place, Client: true, Host: a, Agent: a.Monitor}, Server: &remote.Endpoint{Place: b.Place, Host: b, Agent: b.Monitor},
		Listen: on, Dial: on,
	}
	var refused int64
	for refused == 0 && ctx.Err() == nil {
		must.Do(t, p.CheckExchange(ctx, x))
		refused = p.Foreign()
	}
	cancel()
	if err := <-hammering; err != nil || refused == 0 {
		t.Errorf("refused %d connections: %v", refused, err)
	}
	must.EqualFor(t, "counted twice", int64(0), p.Foreign())
}
