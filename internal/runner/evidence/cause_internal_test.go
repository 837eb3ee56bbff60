package evidence

import (
	"context"
	"testing"

	"tare/internal/driver"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// What was recorded around trials that lost datagrams names the cause of a failed trial, by the counts of
// its endpoints or, where these did not report, of their network stacks.
func TestCauseOfFailedTrial(t *testing.T) {
	for name, want := range map[string][2]string{
		"receive-buffer": {"38,935 of 49,728 datagrams of 1,028 bytes dropped on b by the receive buffer, which was full", "38,935 of 49,732 packets of 1,028 bytes dropped on b by the receive buffer, which was full"},
		"rate-limit":     {"3,091 of 3,638 datagrams of 1,028 bytes dropped on a by the queueing discipline tbf of eth0", "3,091 of 3,642 packets of 1,028 bytes dropped on a by the queueing discipline tbf of eth0"},
		"firewall": {"851 of 3,402 datagrams of 1,028 bytes dropped on b by rule 2 of inet spoil c; 851 of 3,402 dropped on b by the packet filter, with a rule that has no counter",
			"851 of 3,406 packets of 1,028 bytes dropped on b by rule 2 of inet spoil c; 851 of 3,406 dropped on b by the packet filter, with a rule that has no counter"},
		"conntrack": {"2,999 of 3,900 datagrams of 1,028 bytes dropped on b by connection tracking, whose table is full (1,024 of 1,024 entries; raise net.netfilter.nf_conntrack_max)",
			"2,999 of 3,964 packets of 1,028 bytes dropped on b by connection tracking, whose table is full (1,024 of 1,024 entries; raise net.netfilter.nf_conntrack_max)"},
		"generator": {"", ""},
	} {
		for i, reported := range []bool{true, false} {
			in := readLosses(t, name)
			one := in.trial(t, study.Evidence{Drops: study.Off})
			one.Failed = func() bool { return true }
			path := one.Mode.Path()
			for n := range path.Stacks {
				if path.Stacks[n].Name == "b" {
					path.Stacks[n].ReadTracked = tracked(driver.ConnTrack{Count: 1024, Max: 1024})
				}
			}
			for n := range one.stacks {
				one.stacks[n].place = path.Stacks[n]
			}
			if !reported {
				one.Record.Losses = nil
				one.ReadFailure(t.Context())
				one.Record.Losses.Sent = 0 // as without a report
			}
			must.EqualFor(t, name, want[i], one.Cause(t.Context(), 1028))
		}
	}
}

// A trial that did not fail is not read again, nor one of a study that asks for no counters.
func TestNoCauseWithoutFailure(t *testing.T) {
	one := readLosses(t, "firewall").trial(t, study.Evidence{Counters: study.Off})
	one.Failed = func() bool { return true }
	one.ReadFailure(t.Context())
	must.Equal(t, "", one.Cause(t.Context(), 1028))
}

// tracked reads a size of connection tracking.
func tracked(is driver.ConnTrack) func(context.Context) (driver.ConnTrack, bool, error) {
	return func(context.Context) (driver.ConnTrack, bool, error) { return is, true, nil }
}
