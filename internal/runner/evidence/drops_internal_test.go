package evidence

import (
	"slices"
	"testing"

	"tare/internal/result"
)

// If a mode makes the kernel drop what a process has taken over, that reason explains no
// loss, and the omission is reported once.
func TestDiscardsExplainNothing(t *testing.T) {
	d := &flowDrops{}
	for range 2 {
		reasons := []result.DropReason{{Reason: "NETFILTER_DROP", Count: 369469}, {Reason: "SOCKET_RCVBUFF", Count: 12}}
		got := d.without(reasons, []string{"NETFILTER_DROP"})
		if want := []result.DropReason{{Reason: "SOCKET_RCVBUFF", Count: 12}}; !slices.Equal(got, want) {
			t.Errorf("left are %+v, want %+v", got, want)
		}
	}
	if len(d.missing) != 1 {
		t.Errorf("said: %q", d.missing)
	}
	if got := d.without([]result.DropReason{{Reason: "NETFILTER_DROP", Count: 1}}, nil); len(got) != 1 {
		t.Errorf("a rule's drops of another mode are left out: %+v", got)
	}
}
