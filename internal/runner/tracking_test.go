//go:build linux

package runner_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/guest"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
)

// needGuest skips a test that changes what is the whole machine's, unless that is a guest of tare's.
func needGuest(t *testing.T, what string) {
	t.Helper()
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil || !strings.Contains(string(line), " rdinit="+guest.Program+" -- "+guest.InitCommand) {
		testneed.Missing(t, testneed.Other, "this one is no guest of tare's, and "+what+" is the whole machine's")
	}
}

// A full table of connection tracking drops datagrams, which are attributed to it. Two of sixteen flows
// get back into a table of two, once all are under way. The size is the whole kernel's, so that the test
// runs in a guest only: see package guest/inside.
func TestGuestFullTracking(t *testing.T) {
	needGuest(t, "the size of connection tracking")
	var host *linuxnet.NS
	filled := make(chan struct{})
	fill := sync.OnceFunc(func() { // not again if the trial is repeated
		defer close(filled)
		for until := time.Now().Add(timelimit.Scaled(20 * time.Second)); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if s, err := host.Links().Stats("eth0"); err != nil || s.RxPackets < 500 {
				continue
			}
			must.Equal(t, nil, os.WriteFile("/proc/sys/net/netfilter/nf_conntrack_max", []byte("2"), 0o644))
			must.EqualFor(t, "empty connection tracking", nil, host.Rules().FlushConntrack())
			return
		}
		t.Error("the trial had too few packets")
	})
	w := datagrams(func(w *study.Workload) { w.Flows, w.Rate, w.Duration = 16, 10e6, quantity.Duration(5*time.Second) })
	tr := lose(t, "netns/published", w, nil, func(l *lab.Lab) error {
		host = l.B.NS
		return nil
	}, func(e live.Event) {
		if _, started := e.(live.TrialStarted); started {
			go fill()
		}
	})
	<-filled
	diedAt(t, *tr.Losses, result.PlaceNetfilter)
	must.True(t, slices.ContainsFunc(tr.Losses.Places, func(p result.LossPlace) bool { return p.Counter == "conntrack.drop" && p.Where == "b" }),
		"places %+v, want connection tracking of b", tr.Losses.Places)
}
