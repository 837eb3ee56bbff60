package driver

import "tare/internal/traffic"

// CarriedBy is what the reports of both ends say was sent each way.
func CarriedBy(client, server traffic.Report) Carried {
	return Carried{Forward: flow(client, server), Reverse: flow(server, client)}
}

func flow(from, to traffic.Report) Flow {
	return Flow{
		Payload: uint64(to.Received), Messages: uint64(min(from.Messages, to.Messages)), Wire: from.TCP.Wire,
		Segments: from.TCP.Segments, Connections: uint64(from.Connections),
	}
}
