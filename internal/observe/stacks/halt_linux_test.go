package stacks

import (
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// A sampler ends while samples are read.
func TestHaltWhileReading(t *testing.T) {
	s := &Sampler{}
	must.Do(t, s.Start(&Samples{}))
	s.mu.Lock()                // reading waits for it
	time.Sleep(2 * drainEvery) // most often it waits by then
	halted := make(chan struct{})
	go func() {
		defer close(halted)
		s.halt()
	}()
	time.Sleep(drainEvery)
	s.mu.Unlock()
	select {
	case <-halted:
	case <-time.After(30 * time.Second):
		t.Fatal("the sampler does not end")
	}
}
