//go:build !linux

package drops

// Watcher requires Linux.
type Watcher struct{}

// Session requires Linux.
type Session struct{}

// New returns an *UnavailableError.
func New(string) (*Watcher, error) {
	return nil, &UnavailableError{Reason: "drop reasons are available on Linux only"}
}

// Start is never called: there is no Watcher.
func (*Watcher) Start(int) (*Session, error) { return &Session{}, nil }

// Close does nothing.
func (*Watcher) Close() error { return nil }

// Turn is never called.
func (*Session) Turn(int) error { return nil }

// Set is never called.
func (*Session) Set(int, Flow) error { return nil }

// Read is never called.
func (*Session) Read(int) (FlowDrops, error) { return FlowDrops{}, nil }

// Stop is never called.
func (*Session) Stop() error { return nil }
