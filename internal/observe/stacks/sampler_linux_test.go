package stacks

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tare/internal/observe"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

func TestCPUList(t *testing.T) {
	for text, want := range map[string]int{"0": 1, "0-3": 4, "0-1,8,10-11": 5, "": -1, "3-1": -1, "a": -1, "0-99999999": -1} {
		got, err := cpuList(text)
		must.True(t, (want >= 0 || err != nil) && (want < 0 || len(got) == want), "%q: %v, %v", text, got, err)
	}
}

// spin works until it is stopped.
func spin(stop <-chan struct{}) (n uint64) {
	for {
		select {
		case <-stop:
			return n
		default:
			n = n*31 + 7
		}
	}
}

// Samples of the real machine contain a busy function of this program, which has run for long enough
// to be in some of them.
func TestSampler(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := openSampler(t)
	defer s.Close()
	stop := make(chan struct{})
	done := make(chan uint64)
	go func() { done <- spin(stop) }()
	defer func() { close(stop); <-done }()
	var of Samples
	must.Do(t, s.Start(&of))
	for until := ownTime(t) + 500*time.Millisecond; ownTime(t) < until; time.Sleep(10 * time.Millisecond) {
	}
	must.Do(t, errors.Join(s.Pause(), s.Identify()))
	got, err := s.Profile(&of)
	must.Require(t, err == nil && got.Busy != 0 && got.CPUs != 0 && got.Elapsed > 0, "sampled %+v, %v", got, err)
	spun := 0
	for stack, n := range got.Stacks {
		if strings.HasPrefix(stack, string(Observer)) && strings.Contains(stack, "stacks.spin") {
			spun += n
		}
	}
	must.True(t, spun != 0 && got.Components()["watching"] >= spun,
		"%d of %d samples are of the spinner, and components %v", spun, got.Busy, got.Components())
}

// ownTime is the CPU time of this program.
func ownTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	must.Do(t, unix.Getrusage(unix.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// openSampler is for tests that sample stacks; see testneed.
func openSampler(t *testing.T) *Sampler {
	t.Helper()
	s, err := Open("/proc", observe.Own{PID: os.Getpid(), Run: "none"})
	if errors.Is(err, ErrUnavailable) {
		testneed.Missing(t, testneed.Feature, err)
	}
	must.Do(t, err)
	return s
}

func sampleFor(t *testing.T, s *Sampler, into *Samples, long time.Duration) {
	t.Helper()
	must.Do(t, s.Start(into))
	time.Sleep(long)
	must.Do(t, s.Pause())
}

// The windows of two interleaved trials are counted apart: what is sampled is all of their time and
// nothing of the time between.
func TestInterleavedSamples(t *testing.T) {
	s := openSampler(t)
	defer s.Close()
	stop := make(chan struct{})
	done := make(chan uint64)
	go func() { done <- spin(stop) }() // an idle CPU may not be sampled
	defer func() { close(stop); <-done }()
	var long, short, none Samples
	for range 5 {
		sampleFor(t, s, &long, 60*time.Millisecond)
		time.Sleep(50 * time.Millisecond)
		sampleFor(t, s, &short, 20*time.Millisecond)
	}
	for _, tt := range []struct {
		of    *Samples
		least time.Duration
	}{{&long, 300 * time.Millisecond}, {&short, 100 * time.Millisecond}, {&none, 0}} {
		got := must.Get(s.Profile(tt.of))(t)
		must.True(t, got.Elapsed >= tt.least && (tt.least != 0 || got.Elapsed == 0), "windows of %s took %s", tt.least, got.Elapsed)
		// Each CPU gives at most Rate samples a second, and one more at each end of a window.
		most := got.CPUs * (int(got.Elapsed.Seconds()*Rate) + 10)
		if n := got.Busy + got.Idle + got.Lost; n > most || tt.least > 0 && got.Busy == 0 || tt.least == 0 && n != 0 {
			t.Errorf("%d samples, %d of busy CPUs, in %s on %d CPUs; at most %d can be", n, got.Busy, got.Elapsed, got.CPUs, most)
		}
	}
}

func TestOpenWithoutProc(t *testing.T) {
	_, err := Open(t.TempDir(), observe.Own{PID: os.Getpid()})
	must.True(t, errors.Is(err, ErrUnavailable), "without /proc: %v", err)
}
