package driver_test

import (
	"testing"

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
