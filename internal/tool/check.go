package tool

import (
	"errors"
	"fmt"

	"tare/internal/result"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// Compatible returns an error if the values of two endpoints cannot be combined: mixed versions of
// iperf3 report no loss where there was some (iperf issues 1984 and 2055). Reports of the built-in
// generator always pass.
func Compatible(client, server traffic.Report) error {
	c, s := client.Tool, server.Tool
	switch {
	case c == nil && s == nil, c != nil && asks(c.Name) && s == nil:
		return nil
	case c == nil || s == nil:
		return errors.New("one endpoint used an external tool and the other did not")
	case c.Name != s.Name:
		return fmt.Errorf("the client ran %s and the server %s", c.Name, s.Name)
	case c.Name == iperf3Name && c.Version != s.Version:
		return fmt.Errorf("the client ran iperf3 %s and the server %s: mixed versions count loss wrongly; install the same version on both", c.Version, s.Version)
	}
	return nil
}

// Check compares the reports of both endpoints of a tool's trial. An error means that the values
// are impossible; notes are what a reader must know.
func Check(p traffic.Params, client, server traffic.Report) ([]result.Note, error) {
	if err := Compatible(client, server); err != nil || client.Tool == nil {
		return nil, err
	}
	if asks(client.Tool.Name) {
		return nil, checkAnswers(client, server)
	}
	var notes []result.Note
	if c, s := client.Tool, server.Tool; c.Version != s.Version {
		notes = append(notes, warning.NewNote(warning.ToolVersions, "the client ran %s %s and the server %s", c.Name, c.Version, s.Version))
	}
	for _, direction := range []struct {
		on       bool
		name     string
		from, to traffic.Report
	}{{!p.Reverse() || p.Both(), "forward", client, server}, {p.Reverse() || p.Both(), "reverse", server, client}} {
		if !direction.on {
			continue
		}
		more, err := checkDirection(p, direction.name, direction.from, direction.to)
		if err != nil {
			return nil, err
		}
		notes = append(notes, more...)
	}
	return notes, nil
}

func checkDirection(p traffic.Params, name string, from, to traffic.Report) ([]result.Note, error) {
	if to.Received == 0 {
		return nil, fmt.Errorf("%s: %s received nothing", name, to.Tool.Name)
	}
	if HasOwnWindow(to.Tool.Name) { // its endpoints count over their own windows
		if p.Kind == udpStream && loss(from, to) == nil {
			return []result.Note{warning.NewNote(warning.ToolNoLoss, "ntttcp received more in its window than it sent in its own, so the loss is unknown")}, nil
		}
		return nil, nil
	}
	if to.Received > from.Sent {
		return nil, fmt.Errorf("%s: %s reports %d bytes received of %d sent, which is impossible", name, to.Tool.Name, to.Received, from.Sent)
	}
	if p.Kind != udpStream || to.Tool.Lost == nil {
		return nil, nil
	}
	sent, received := datagrams(from, to)
	missing, gaps := sent-received, *to.Tool.Lost
	if gaps < 0 || gaps > sent {
		return []result.Note{lossNote(to.Tool.Name, to.Tool.Version, float64(gaps), float64(sent))}, nil
	}
	if missing-gaps > max(tailDatagrams, sent/tailShare) {
		return []result.Note{warning.NewNote(warning.TailLoss,
			"%s: %d of %d datagrams did not arrive, but %s saw only %d gaps. The rest were lost, or still queued, at the end", name, missing, sent, to.Tool.Name, gaps)}, nil
	}
	return nil, nil
}

// SentBy is the payload that the client sent in the whole trial: of a tool that only asks, which does not count it, what the server
// received of its requests.
func SentBy(client, server traffic.Report) int64 {
	if client.Tool != nil && asks(client.Tool.Name) {
		return server.Received
	}
	return client.Sent
}

// HasOwnWindow reports whether the endpoints of a tool count over their own times, so that their
// totals are not of the whole trial.
func HasOwnWindow(name string) bool { return name == ntttcpName }

// A tail loss above both of these has a note.
const (
	tailDatagrams = 10
	tailShare     = 1000
)
