package evidence

import (
	"fmt"

	"tare/internal/observe/netstack"
	"tare/internal/observe/nic"
	"tare/internal/unit"
	"tare/internal/warning"
)

// minCardDrops is the number of dropped packets from which a network card is noted: a few
// are other traffic.
const minCardDrops = 10

// idleCard is the share of the bytes of a stack's busiest card below which a card is not
// that of the trial.
const idleCard = 0.1

// NoteCards adds notes about what the network cards on the path counted: pause frames and,
// in trials over TCP, dropped packets, which are retransmitted. Over UDP they are among the
// losses.
func (t *Trial) NoteCards() {
	for _, s := range t.stacks {
		for _, c := range busyCards(s.moved) {
			t.noteCard(s.place.Name, c)
		}
	}
}

func (t *Trial) noteCard(host string, c nic.Card) {
	note := func(code warning.Code, format string, args ...any) {
		t.Record.Notes = append(t.Record.Notes, warning.NewNote(code, "the network card %s of host %s %s", warning.Said(c.Device), warning.Said(host), fmt.Sprintf(format, args...)))
	}
	received, _, _ := c.Count(nic.PausedRx)
	sent, _, _ := c.Count(nic.PausedTx)
	if received+sent > 0 {
		note(warning.LinkPaused, "received %d and sent %d pause frames: the receiver or a switch stopped the sender, so rates are those of the slower side", received, sent)
	}
	if OverUDP(t.Planned.Workload) {
		return
	}
	for _, of := range []struct {
		class nic.Class
		why   string
	}{
		{nic.NoBuffer, "because it had no free buffer; use larger rings (`ethtool -G`) or more queues"},
		{nic.Damaged, "because they were damaged or too long; check the cable, and the MTUs of both devices of the link"},
		{nic.Unsent, "instead of sending them"},
		{nic.Throttled, "or delayed them because the virtual machine has used up its allowance"},
	} {
		if n, family, _ := c.Count(of.class); n >= minCardDrops {
			note(warning.CardDrops, "dropped %s %s (%s)", unit.Count(int(n), "packet", "packets"), of.why, family)
		}
	}
}

// busyCards returns the cards that carried the trial: others of the host may serve anybody.
func busyCards(d netstack.Deltas) (out []nic.Card) {
	bytes := func(c nic.Card) uint64 {
		return d.Counters["dev/"+c.Device+".rx_bytes"] + d.Counters["dev/"+c.Device+".tx_bytes"]
	}
	all := nic.Cards(d)
	var most uint64
	for _, c := range all {
		most = max(most, bytes(c))
	}
	for _, c := range all {
		if n := bytes(c); n > 0 && float64(n) >= idleCard*float64(most) {
			out = append(out, c)
		}
	}
	return out
}
