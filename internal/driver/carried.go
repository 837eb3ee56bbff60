package driver

import "tare/internal/traffic"

// CarriedBy returns what the reports of client and server say was sent in each direction.
func CarriedBy(client, server traffic.Report) Carried {
	return Carried{Forward: flow(client, server), Reverse: flow(server, client), Seconds: max(client.Window.Seconds, server.Window.Seconds)}
}

// CarriedInTurn returns what a client carried with two servers, of which the second took the place of the first. A client over TCP counts
// both together: what it exchanged with one is bounded by what the other counted.
func CarriedInTurn(client, first, second traffic.Report) []Carried {
	all := []Carried{CarriedBy(without(client, second, first), first), CarriedBy(without(client, first, second), second)}
	all[1].InTurn = true
	return all
}

// CarriedFanIn returns what each of several clients carried with the one server that all of them had, and that server with all. It counts
// them together: what it exchanged with one client is bounded by what the others counted.
func CarriedFanIn(clients []traffic.Report, server traffic.Report) []Carried {
	sum := clients[0]
	for _, c := range clients[1:] {
		sum = traffic.Sum(sum, c)
	}
	whole := CarriedBy(sum, server)
	var all []Carried
	for i, client := range clients {
		own := server
		for j, other := range clients {
			if j != i {
				own = without(own, other, client)
			}
		}
		one := CarriedBy(client, own)
		one.FanIn = &whole
		all = append(all, one)
	}
	return all
}

// without returns what an endpoint counted without what it exchanged with one of its peers: at least that much arrived from the other
// ones, and at most that much was sent to them.
func without(client, one, other traffic.Report) traffic.Report {
	client.Connections = other.Connections
	client.Received = max(0, client.Received-one.Sent)
	client.Content = max(0, client.Content-one.Sent)
	client.Messages = max(0, client.Messages-one.Messages)
	client.TCP.Wire -= min(client.TCP.Wire, uint64(max(0, one.Received)))
	client.TCP.Segments -= min(client.TCP.Segments, uint64(max(0, one.Messages)/int64(max(1, one.Together))))
	return client
}

func flow(from, to traffic.Report) Flow {
	f := Flow{
		Payload: uint64(to.Received), Messages: uint64(min(from.Messages, to.Messages) / int64(max(1, from.Together))), Wire: from.TCP.Wire,
		Segments: from.TCP.Segments, Connections: uint64(from.Connections),
		Requests: uint64(from.Messages), Failed: uint64(from.Failed), Forwarded: uint64(from.Forwarded), Flows: uint64(len(from.Window.Streams)), Content: uint64(to.Content),
	}
	if d := from.Datagrams; d != nil {
		f.Datagrams = true
		var copies uint64 // that a network made, perhaps before a device that counts
		f.Messages = 0
		if t := to.Datagrams; t != nil {
			copies = uint64(traffic.Count(t.Duplicates))
			for _, n := range t.Flows {
				if !d.Offload && !t.Offload { // otherwise several share a packet
					f.Messages += uint64(n.Received)
				}
			}
		}
		wire, segments := most(from, copies)
		f.Wire, f.Segments = max(f.Wire, wire), max(f.Segments, segments)
	}
	// A built-in endpoint that only receives datagrams sends nothing. Any other endpoint
	// without counts is unbounded: not every system's kernel reports them.
	// Windows and macOS count the bytes of a connection but not its segments, and so not its
	// headers.
	uncounted := f.Segments == 0 && (f.Wire == 0 || !f.Datagrams && from.Tool == nil)
	f.Unbounded = uncounted && from.Connections > 0 && (!f.Datagrams || from.Tool != nil)
	return f
}

// fragment is a lower bound of the payload bytes in any fragment except the last: the
// minimum MTU of a lab is 1280, and a tunnel and headers take 100 of it.
const fragment = 1100

// most returns the maximum payload and packets of the datagrams that one endpoint sent and of copies of them,
// when IP fragments those above the MTU.
func most(from traffic.Report, copies uint64) (wire, segments uint64) {
	var sent uint64
	for _, f := range from.Datagrams.Flows {
		sent += uint64(f.Sent)
	}
	if sent == 0 {
		return uint64(from.Sent), 0
	}
	size := (uint64(from.Sent) + sent - 1) / sent
	return uint64(from.Sent) + copies*size, (sent + copies) * (1 + size/fragment)
}

// Plus adds what was carried in two consecutive trials.
func (c Carried) Plus(d Carried) Carried {
	return Carried{Forward: c.Forward.plus(d.Forward), Reverse: c.Reverse.plus(d.Reverse), Seconds: c.Seconds + d.Seconds}
}

func (f Flow) plus(g Flow) Flow {
	return Flow{
		Payload: f.Payload + g.Payload, Messages: f.Messages + g.Messages, Wire: f.Wire + g.Wire, Segments: f.Segments + g.Segments,
		Connections: f.Connections + g.Connections, Requests: f.Requests + g.Requests, Failed: f.Failed + g.Failed, Forwarded: f.Forwarded + g.Forwarded, Flows: max(f.Flows, g.Flows), Content: f.Content + g.Content, Datagrams: f.Datagrams || g.Datagrams, Unbounded: f.Unbounded || g.Unbounded,
	}
}
