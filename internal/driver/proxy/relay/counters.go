package relay

import (
	"fmt"
	"sync"
	"sync/atomic"
)

type counter = atomic.Uint64

// counts are the counters of a proxy that runs.
type counts struct {
	connections, failed counter
	open                atomic.Int64
	forward, reverse    counter
	handshakes          counter
	records             recordCounts

	mu     sync.Mutex
	reason string         // of the first failure
	states map[State]bool // all that were negotiated
}

// fail counts a connection that could not be forwarded.
func (c *counts) fail(err error) {
	c.failed.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason == "" {
		c.reason = err.Error()
	}
}

// Counters are what a proxy has counted since its start.
type Counters struct {
	Congestion  string `json:"congestion"`  // congestion control, as read back from a socket
	Connections uint64 `json:"connections"` // accepted
	Open        int64  `json:"open"`        // now
	Failed      uint64 `json:"failed"`      // could not be forwarded
	Reason      string `json:"reason"`      // of the first failure
	Forward     uint64 `json:"forward"`     // payload bytes from the client
	Reverse     uint64 `json:"reverse"`     // payload bytes from the server

	// Of TLS, on what this proxy wrote to the other.
	Handshakes uint64  `json:"handshakes"`
	States     []State `json:"states"`   // negotiated, each once
	Records    uint64  `json:"records"`  // of application data
	Sealed     uint64  `json:"sealed"`   // payload bytes inside these records
	Unsealed   uint64  `json:"unsealed"` // bytes outside of encrypted records, other than of handshakes
}

// Counters reads the counters.
func (r *Relay) Counters() Counters {
	k := &r.counts
	c := Counters{
		Congestion: r.congestion, Connections: k.connections.Load(), Open: k.open.Load(), Failed: k.failed.Load(), Forward: k.forward.Load(), Reverse: k.reverse.Load(),
		Handshakes: k.handshakes.Load(), Unsealed: k.records.unsealed.Load(),
	}
	// A record is counted before its content, so the content is read first.
	c.Sealed = k.records.content.Load()
	c.Records = k.records.records.Load()
	k.mu.Lock()
	defer k.mu.Unlock()
	c.Reason = k.reason
	for s := range k.states {
		c.States = append(c.States, s)
	}
	return c
}

// Check returns an error unless everything that the proxy has written to the other was inside
// encrypted records, and every connection between them was negotiated as want.
func (c Counters) Check(want State) error {
	if c.Unsealed > 0 {
		return fmt.Errorf("%d bytes crossed the underlay outside of encrypted TLS records", c.Unsealed)
	}
	for _, s := range c.States {
		if s != want {
			return fmt.Errorf("a connection between the proxies was negotiated as %s, not as %s", s, want)
		}
	}
	if least := (c.Sealed + maxRecord - 1) / maxRecord; c.Records < least {
		return fmt.Errorf("%d bytes were in %d TLS records, which hold at most %d bytes each", c.Sealed, c.Records, maxRecord)
	}
	return nil
}
