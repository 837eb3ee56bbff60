package winetest_test

import (
	"fmt"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/testkit/winetest"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// bench is a network namespace with an agent of this system and one under Wine.
type bench struct {
	prefix       *winetest.Prefix
	linux, other *agent.Client
}

func begin(t *testing.T) bench {
	t.Helper()
	winetest.Need(t)
	ns := namespace(t, "loopback")
	must.Do(t, ns.Links().Up("lo"))
	p := winetest.New(t, ns.Start)
	start := func(l transport.Launcher, place string) *agent.Client {
		c := must.Get(agent.Start(t.Context(), l, "00000000", place))(t)
		t.Cleanup(func() {
			must.Do(t, c.Close())
		})
		return c
	}
	return bench{p, start(transport.Local{Start: ns.Start}, "linux"), start(p.Launcher(winetest.Program(t)), "wine")}
}

func namespace(t *testing.T, name string) *linuxnet.NS {
	t.Helper()
	ns := must.Get(linuxnet.NewNS("tare-test-wine-" + name))(must.Named(t, "make a network namespace"))
	t.Cleanup(func() {
		must.Do(t, ns.Close())
	})
	return ns
}

// params are a short trial of a workload. At its rate a second fits into the smallest buffer of a receiver, which may get no CPU for so long.
func params(kind string) traffic.Params {
	return traffic.Params{
		Workload: study.Workload{Kind: kind, Streams: 2, WriteSize: 1400, PayloadSize: 1400, RequestSize: 16, ResponseSize: 16, Rate: 2e6, Burst: 64, NoDelay: new(true), SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.Buffer(4 << 20)},
		Address:  "127.0.0.1:0", Token: "0123456789abcdef", CPU: -1, Warmup: 50 * time.Millisecond, Duration: 200 * time.Millisecond, Limit: time.Minute,
	}
}

// Each workload runs between an agent under Wine and one of Linux, in both roles. What one endpoint
// sent, the other received.
func TestWorkloads(t *testing.T) {
	b := begin(t)
	for _, w := range workloads.All() {
		if w.Spec().MadeOf != "" {
			continue // its trials are those of another
		}
		for _, client := range []string{"wine", "linux"} {
			t.Run(w.Spec().Kind+"/client "+client, func(t *testing.T) {
				dials, serves := b.other, b.linux
				if client == "linux" {
					dials, serves = b.linux, b.other
				}
				for _, reverse := range []bool{false, true} {
					p := params(w.Spec().Kind)
					p.Direction = studytest.Direction(reverse)
					must.Do(must.Named(t, fmt.Sprintf("reverse %t", reverse)), run(t, dials, serves, w.Spec(), p))
				}
			})
		}
	}
}

// Requests in TLS 1.3 run between an agent under Wine and one of Linux, in both roles: over kept connections, over new ones with and without
// resumption, and in HTTP/2.
func TestTLS(t *testing.T) {
	b := begin(t)
	for _, c := range []struct{ kind, keepAlive, resumption string }{
		{"http", study.On, ""}, {"http", study.Off, ""}, {"http", study.Off, study.On}, {"http2", study.On, ""}, {"grpc", "", ""},
	} {
		for _, client := range []string{"wine", "linux"} {
			t.Run(fmt.Sprintf("%s, keep_alive %s, resumption %s/client %s", c.kind, c.keepAlive, c.resumption, client), func(t *testing.T) {
				dials, serves := b.other, b.linux
				if client == "linux" {
					dials, serves = b.linux, b.other
				}
				p := params(c.kind)
				p.TLS, p.KeepAlive, p.Resumption, p.RequestSize, p.ResponseSize = study.On, c.keepAlive, c.resumption, 20_000, 40_000
				trial := must.Get(agent.Begin(t.Context(), dials, serves, p, p))(t)
				from, to, err := trial.Run(t.Context())
				must.Do(t, err)
				must.True(t, from.Sent > 0 && from.Sent == to.Received && from.Received == to.Sent && from.Window.Failed == 0,
					"the client sent %d and received %d bytes, the server %d and %d; %d requests failed", from.Sent, from.Received, to.Sent, to.Received, from.Window.Failed)
				t.Logf("%d messages, %d connections, %v", from.Messages, from.Connections, from.Notes)
			})
		}
	}
}

func run(t *testing.T, client, server *agent.Client, spec traffic.Spec, p traffic.Params) error {
	t.Helper()
	trial, err := agent.Begin(t.Context(), client, server, p, p)
	if err != nil {
		return err
	}
	c, s, err := trial.Run(t.Context())
	if err != nil {
		return err
	}
	if c.Sent+s.Sent == 0 || c.Sent != s.Received || s.Sent != c.Received {
		return fmt.Errorf("the client sent %d and received %d bytes, the server %d and %d", c.Sent, c.Received, s.Sent, s.Received)
	}
	if !spec.Datagrams {
		return nil
	}
	return sameFlows(c.Datagrams, s.Datagrams, c.Window.RTT == nil)
}

// sameFlows compares each flow's datagrams. Of exchanges only the client counts those of the window.
func sameFlows(client, server *traffic.Datagrams, oneWay bool) error {
	if client == nil || server == nil || len(client.Flows) == 0 || len(client.Flows) != len(server.Flows) {
		return fmt.Errorf("datagrams of the client %+v, of the server %+v", client, server)
	}
	for i, c := range client.Flows {
		if s := server.Flows[i]; c.Sent != s.Received || s.Sent != c.Received || oneWay && (c.SentCounted != s.ReceivedCounted || s.SentCounted != c.ReceivedCounted) {
			return fmt.Errorf("flow %d: the client counted %+v, the server %+v", i, c, s)
		}
	}
	return nil
}
