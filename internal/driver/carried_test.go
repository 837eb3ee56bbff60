package driver_test

import (
	"testing"

	"pgregory.net/rapid"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// A system that counts the bytes of a connection but no segments leaves the headers unknown, and
// with them the most that devices carry.
func TestCarriedWithoutSegments(t *testing.T) {
	from := traffic.Report{End: result.End{Sent: 1000}, Connections: 1}
	from.TCP.Wire = 1000
	to := traffic.Report{End: result.End{Received: 1000}, Connections: 1}
	if f := driver.CarriedBy(from, to).Forward; !f.Unbounded || f.Payload != 1000 {
		t.Errorf("without segments: %+v", f)
	}
	from.TCP.Segments = 2
	if f := driver.CarriedBy(from, to).Forward; f.Unbounded {
		t.Errorf("with segments: %+v", f)
	}
}

// Copies that a network made of datagrams may be on the path's devices, and no more.
func TestCarriedDuplicates(t *testing.T) {
	from := traffic.Report{End: result.End{Sent: 10_000}, Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Sent: 10}}}}
	to := traffic.Report{End: result.End{Received: 10_000}, Datagrams: &traffic.Datagrams{Datagrams: result.Datagrams{Duplicates: new(int64(3))}, Flows: []traffic.FlowCount{{Received: 10}}}}
	f := driver.CarriedBy(from, to).Forward
	must.Equal(t, driver.Flow{Payload: 10_000, Messages: 10, Wire: 13_000, Segments: 13, Datagrams: true}, f)
}

// Requests that share a connection may share packets: as many of them as are in progress at once need one at least.
func TestCarriedTogether(t *testing.T) {
	client, server := traffic.Report{Messages: 100, Together: 10}, traffic.Report{Messages: 95, Together: 10}
	client.Sent, server.Received = 2000, 2000
	c := driver.CarriedBy(client, server)
	must.Equal(t, []uint64{9, 9, 2000}, []uint64{c.Forward.Messages, c.Reverse.Messages, c.Forward.Payload})
	client.Together, server.Together = 0, 0
	must.Equal(t, uint64(95), driver.CarriedBy(client, server).Forward.Messages)
}

// Of several clients of one server, the least and the most that each exchanged with it hold what it did, and that of all together is what they
// and the server count.
func TestCarriedFanIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clients := make([]traffic.Report, rapid.IntRange(1, 5).Draw(t, "clients"))
		var server traffic.Report
		answered := make([]int64, len(clients))
		together := rapid.IntRange(0, 4).Draw(t, "together")
		for i := range clients {
			c := &clients[i]
			n, lost := rapid.Int64Range(1, 1000).Draw(t, "answered"), rapid.Int64Range(0, 1).Draw(t, "lost") // a response that did not arrive
			answered[i] = n
			c.Messages, c.Connections, c.Together = n-lost, 2, together
			c.Sent, c.Received = 100*n, 1000*(n-lost)
			c.TCP.Wire, c.TCP.Segments = uint64(c.Sent), uint64(n)
			server.Messages += n
			server.Connections += 2
			server.Received += 100 * n
			server.Sent += 1000 * n
			server.TCP.Wire += uint64(1000 * n)
			server.TCP.Segments += uint64(2 * n)
		}
		server.Together = together
		for i, c := range driver.CarriedFanIn(clients, server) {
			f, r := c.Forward, c.Reverse
			if f.Payload != uint64(100*answered[i]) || f.Wire != clients[i].TCP.Wire || f.Connections != 2 || f.Messages != uint64(clients[i].Messages/int64(max(1, together))) {
				t.Errorf("client %d: forward %+v, and %d requests were answered", i, f, answered[i])
			}
			if r.Payload != uint64(clients[i].Received) || r.Wire < uint64(1000*answered[i]) || r.Wire > uint64(1000*(answered[i]+int64(len(clients)))) || r.Segments < uint64(2*answered[i]) || r.Unbounded {
				t.Errorf("client %d: reverse %+v, and %d requests were answered", i, r, answered[i])
			}
			whole := c.FanIn
			if whole.Forward.Payload != uint64(server.Received) || whole.Reverse.Wire != server.TCP.Wire || whole.Reverse.Segments != server.TCP.Segments || whole.Forward.Connections != uint64(server.Connections) {
				t.Errorf("all: %+v, and the server %+v", whole, server)
			}
		}
	})
}

// Of two servers in turn, the second in the place of the first, the least and the most that each exchanged with the client hold what it
// did, and both together no more than all; a request that was not answered belongs to either.
func TestCarriedInTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var client traffic.Report
		var servers [2]traffic.Report
		var sent, arrived [2]int64 // by the client to each, and from each to the client
		for i := range servers {
			s := &servers[i]
			answered, lost := rapid.Int64Range(1, 1000).Draw(t, "answered"), rapid.Int64Range(0, 8).Draw(t, "lost")
			s.Messages, s.Connections, s.Received, s.Sent = answered, 8, 100*answered, 1000*answered
			s.TCP.Wire, s.TCP.Segments = uint64(s.Sent), uint64(2*answered)
			sent[i], arrived[i] = 100*(answered+lost), 1000*max(0, answered-lost)
			client.Messages += answered - min(lost, answered)
			client.Connections += 8
			client.Sent += sent[i]
			client.Received += arrived[i]
			client.TCP.Wire += uint64(sent[i])
			client.TCP.Segments += uint64(2 * (answered + lost))
		}
		all := driver.CarriedInTurn(client, servers[0], servers[1])
		for i, c := range all {
			f, r := c.Forward, c.Reverse
			if f.Payload != uint64(servers[i].Received) || f.Wire < uint64(sent[i]) || f.Segments < uint64(servers[i].Messages) || f.Connections != 8 || f.Unbounded {
				t.Errorf("server %d: forward %+v, and %d bytes were sent", i, f, sent[i])
			}
			if r.Payload > uint64(arrived[i]) || r.Wire != servers[i].TCP.Wire || r.Messages > uint64(servers[i].Messages) {
				t.Errorf("server %d: reverse %+v, and %d bytes arrived", i, r, arrived[i])
			}
		}
		if sum := all[0].Forward.Messages + all[1].Forward.Messages; sum > uint64(client.Messages) {
			t.Errorf("%d requests in turn, and %d in all", sum, client.Messages)
		}
	})
}
