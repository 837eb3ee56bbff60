package evidence

import (
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/observe/netstack"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// What the cards of the trial dropped is a note over TCP; pause frames always are. A card
// that carried nothing of the trial is not noted.
func TestNoteCards(t *testing.T) {
	moved := netstack.Deltas{Counters: map[string]uint64{
		"nic/eth0.no_buffer.rx_out_of_buffer": 40, "nic/eth0.unsent.tx_discards": 9, "nic/eth0.paused_rx.rx_pause_ctrl_phy": 3, "dev/eth0.rx_bytes": 1000,
		"nic/eth1.no_buffer.rx_dropped": 500, "dev/eth1.rx_bytes": 99, "nic/eth2.no_buffer.rx_dropped": 500,
	}}
	for kind, want := range map[string]string{"tcp_stream": "link_paused card_drops", "udp_stream": "link_paused"} {
		trial := &Trial{Planned: plan.Trial{Workload: study.Workload{Kind: kind}}, Record: &result.Trial{},
			stacks: []stackReading{{place: driver.NetworkStack{Name: "b"}, moved: moved}}}
		trial.NoteCards()
		var codes []string
		for _, n := range trial.Record.Notes {
			codes = append(codes, n.Code)
			must.True(t, strings.HasPrefix(n.Text, "the network card eth0 of host b "), "%s: %s", n.Code, n.Text)
		}
		must.EqualFor(t, kind+": notes", want, strings.Join(codes, " "))
	}
}
