//go:build !linux

package drops

// Watcher needs Linux.
type Watcher struct{}

// Session needs Linux.
type Session struct{}

// New says that drop reasons are told by Linux only.
func New(string) (*Watcher, error) {
	return nil, &UnavailableError{Reason: "drop reasons are told by Linux only"}
}

// Start is not reached: there is no Watcher.
func (*Watcher) Start(int) (*Session, error) { return &Session{}, nil }

// Close has nothing to let go of.
func (*Watcher) Close() error { return nil }

// Turn is not reached.
func (*Session) Turn(int) error { return nil }

// Set is not reached.
func (*Session) Set(int, Flow) error { return nil }

// Read is not reached.
func (*Session) Read(int) (FlowDrops, error) { return FlowDrops{}, nil }

// Stop is not reached.
func (*Session) Stop() error { return nil }
