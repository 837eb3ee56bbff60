package split

import (
	"context"
	"sync"
)

// meeting is where a number of goroutines wait for each other, again and again.
type meeting struct {
	size int

	mu      sync.Mutex
	waiting int
	all     chan struct{} // closed when all have arrived
}

func newMeeting(size int) *meeting { return &meeting{size: size, all: make(chan struct{})} }

// arrive waits until all have arrived, or for the end of the context.
func (m *meeting) arrive(ctx context.Context) error {
	m.mu.Lock()
	all := m.all
	if m.waiting++; m.waiting == m.size {
		close(all)
		m.waiting, m.all = 0, make(chan struct{})
	}
	m.mu.Unlock()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
