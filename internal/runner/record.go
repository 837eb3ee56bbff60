package runner

import (
	"slices"

	"tare/internal/result"
	"tare/internal/traffic"
)

// end is what a trial's record keeps of the report of one end; other is that of
// its peer.
func end(rep, other traffic.Report) result.End {
	e := result.End{
		Congestion: rep.TCP.Congestion, SendBuffer: rep.SendBuffer, ReceiveBuffer: rep.ReceiveBuffer, MSS: rep.TCP.MSS,
		BytesSent: rep.Sent, BytesReceived: rep.Received, Retransmits: rep.Window.Retransmits, Datagrams: datagrams(rep, other),
	}
	if rep.CPU >= 0 {
		e.CPU = &rep.CPU
	}
	if rep.TCP.RTT > 0 {
		e.RTT = &rep.TCP.RTT
	}
	return e
}

// datagrams is what is known of one end's datagrams. The built-in generator keeps
// a whole account, in which 0 is a count; a tool's 0 may be what it does not tell.
func datagrams(rep, other traffic.Report) *result.Datagrams {
	d := rep.Datagrams
	if d == nil {
		return nil
	}
	told := func(n int64) *int64 {
		if n == 0 && rep.Tool != nil {
			return nil
		}
		return &n
	}
	all := flows(d)
	out := &result.Datagrams{
		Sent: told(all.Sent), Received: told(all.Received), Duplicates: told(d.Duplicates), Reordered: told(d.Reordered),
		ReorderExtent: told(d.ReorderExtent), Late: told(d.Late), Foreign: told(d.Foreign), LargestBurst: told(d.LargestBurst), Offload: d.Offloaded,
	}
	if other.Datagrams != nil {
		if sent := flows(other.Datagrams).SentCounted; sent > 0 {
			lost := sent - all.ReceivedCounted - d.Late
			out.Lost = &lost
		}
	}
	if w := rep.Window; w.Slots > 0 {
		out.Slots, out.MissedSlots = &w.Slots, &w.Missed
	}
	return out
}

// flows adds up the flows of one end.
func flows(d *traffic.Datagrams) (sum traffic.FlowCount) {
	if d == nil {
		return sum
	}
	for _, f := range d.Flows {
		sum.Sent += f.Sent
		sum.SentCounted += f.SentCounted
		sum.Received += f.Received
		sum.ReceivedCounted += f.ReceivedCounted
	}
	return sum
}

// limited is the share of the schedule that the generator missed at both ends
// together, nil without a schedule.
func limited(client, server traffic.Report) *float64 {
	slots := client.Window.Slots + server.Window.Slots
	if slots == 0 {
		return nil
	}
	share := float64(client.Window.Missed+server.Window.Missed) / float64(slots)
	return &share
}

// notes are those of both ends, each once.
func notes(client, server traffic.Report) []result.Note {
	var out []result.Note
	for _, n := range slices.Concat(client.Notes, server.Notes) {
		if r := (result.Note{Code: n.Code, Text: n.Text}); !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// madeBy is what made the traffic, nil for the built-in generator.
func madeBy(client, server traffic.Report) *result.Tool {
	if client.Tool == nil && server.Tool == nil {
		return nil
	}
	var t result.Tool
	for _, e := range []struct {
		run *traffic.ToolRun
		at  *result.ToolEnd
	}{{client.Tool, &t.Client}, {server.Tool, &t.Server}} {
		if e.run != nil {
			t.Name, *e.at = e.run.Name, result.ToolEnd{Version: e.run.Version, Command: e.run.Command}
		}
	}
	return &t
}
