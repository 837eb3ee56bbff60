package runner

import (
	"errors"
	"fmt"
	"testing"

	"tare/internal/driver"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// A cause stands in place of advice, and keeps what the error is. Which packets pass is added where the
// trial's are larger.
func TestWithCause(t *testing.T) {
	advice := &driver.AdviceError{Err: fmt.Errorf("only 0 bytes were carried: %w", driver.ErrTooLittleTraffic), Advice: "use longer trials"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("the path of host is not proven: %w", advice), "the path of host is not proven: only 0 bytes were carried: " + driver.ErrTooLittleTraffic.Error() + ": 3 of 9 packets dropped"},
		{errors.New("no answer"), "no answer: 3 of 9 packets dropped"},
	} {
		got := withCause(c.err, "3 of 9 packets dropped")
		must.EqualFor(t, c.err, c.want, got.Error())
		must.EqualFor(t, c.err, errors.Is(c.err, driver.ErrTooLittleTraffic), errors.Is(got, driver.ErrTooLittleTraffic))
	}
	dropped := driver.PacketSizes{Passed: 1228, Dropped: 1500, Cause: "8 of 8 packets dropped on b by rule 2 of ip filter FORWARD"}
	must.Equal(t, "3 of 9 packets dropped; those of 1228 bytes passed when the path was set up", withSizes("3 of 9 packets dropped", dropped))
	must.Equal(t, "when the path was set up, packets of 1500 bytes were dropped and those of 1228 passed (8 of 8 packets dropped on b by rule 2 of ip filter FORWARD)", withSizes("", dropped))
	for _, known := range []string{"", "3 of 9 packets dropped"} {
		must.Equal(t, known, withSizes(known, driver.PacketSizes{Passed: 1500}))
	}
}

// A stream and large messages have large packets, exchanges of one byte have none.
func TestSendsLarger(t *testing.T) {
	for _, c := range []struct {
		w    study.Workload
		want bool
	}{
		{study.Workload{Kind: "tcp_stream"}, true}, {study.Workload{Kind: "udp_stream", PayloadSize: 1400}, true},
		{study.Workload{Kind: "tcp_rr", RequestSize: 1, ResponseSize: 8192}, true}, {study.Workload{Kind: "tcp_rr", RequestSize: 1, ResponseSize: 1}, false},
	} {
		tr := &trialRun{}
		tr.Workload = c.w
		must.EqualFor(t, c.w.Kind, c.want, tr.sendsLarger(1228))
	}
}
