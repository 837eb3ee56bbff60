package stacks

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/observe"
)

func TestCPUList(t *testing.T) {
	for text, want := range map[string]int{"0": 1, "0-3": 4, "0-1,8,10-11": 5, "": -1, "3-1": -1, "a": -1, "0-99999999": -1} {
		got, err := cpuList(text)
		if want < 0 && err == nil || want >= 0 && len(got) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// spin works until it is told to stop.
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

// The samples of the real machine find a function of this program that is at work. A
// busy machine takes a few turns to give it a CPU.
func TestSampler(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	stop := make(chan struct{})
	done := make(chan uint64)
	go func() { done <- spin(stop) }()
	defer func() { close(stop); <-done }()
	for until := time.Now().Add(time.Minute); ; {
		got := sampleOnce(t)
		if got.Busy == 0 || got.CPUs == 0 || got.Elapsed <= 0 {
			t.Fatalf("sampled %+v", got)
		}
		of := 0
		for s, n := range got.Stacks {
			if strings.HasPrefix(s, string(Observer)) && strings.Contains(s, "stacks.spin") {
				of += n
			}
		}
		if of > 0 {
			if got.Components()["watching"] < of {
				t.Errorf("%d samples of this program, and components %v", of, got.Components())
			}
			return
		}
		if time.Now().After(until) {
			t.Fatalf("not one of %d samples is of the spinner", got.Busy)
		}
	}
}

func sampleOnce(t *testing.T) Profile {
	t.Helper()
	s, err := Open("/proc", observe.Own{PID: os.Getpid(), Run: "none"})
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	long, err := s.Pause()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Stop(long)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOpenWithoutProc(t *testing.T) {
	if _, err := Open(t.TempDir(), observe.Own{PID: os.Getpid()}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without /proc: %v", err)
	}
}
