package driver

import (
	"maps"
	"net/netip"
	"sync"
	"time"
)

// The roles of the endpoints of a pair, as in names of sandboxes.
const (
	RoleClient = "client"
	RoleServer = "server"
)

// InStack calls a function on a thread whose new sockets belong to the network stack of an endpoint on this
// machine. The function must not start goroutines that rely on that, nor lock or unlock its thread.
type InStack func(func() error) error

// SetupClock records when the first pair of a mode was set up, by the clock of this program. A driver calls its
// methods while it provisions a mode; a nil SetupClock ignores them. They are safe for concurrent use.
type SetupClock struct {
	// OnPair is called once, as soon as both endpoints of the first pair exist and their addresses are known, while the
	// rest of the mode is still being built. A stack is nil if it is none of this machine's kernel. listen and dial are
	// those of the server's Endpoint. It must return at once.
	OnPair func(client, server InStack, listen, dial []netip.AddrPort)
	// Reaches means that OnPair finds out whether the endpoints reach each other, at the server's own port. The driver
	// then does not.
	Reaches bool
	// IPv6 means that the server is to be reached over it.
	IPv6 bool

	mu            sync.Mutex
	answer        *Answer
	lab           time.Time
	begun, exists map[string]time.Time // by role
	paired        time.Time
	steps         map[string]time.Duration
}

// SetupTimes are the moments of a set-up.
type SetupTimes struct {
	// Begun is when the driver began to create the sandbox of the server; that of the client if the server is a process of
	// its host, and the hosts of the lab if both are.
	Begun time.Time
	// Exists is when that sandbox existed: where it is a container, when the engine said that it had started it.
	Exists time.Time
	// Both is when the last of the two sandboxes existed, and Paired when OnPair was called.
	Both, Paired time.Time
}

// LabBegins records that the hosts of the mode are about to be created.
func (c *SetupClock) LabBegins() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lab = time.Now()
}

// SandboxBegins records that the sandbox of an endpoint of the first pair is about to be created. Only the first call
// with a role counts, and only the two roles do.
func (c *SetupClock) SandboxBegins(role string) {
	c.record(role, func() *map[string]time.Time { return &c.begun })
}

// SandboxExists records that the sandbox of an endpoint of the first pair exists, with its devices. Without a call it
// is taken to exist when the pair is added.
func (c *SetupClock) SandboxExists(role string) {
	c.record(role, func() *map[string]time.Time { return &c.exists })
}

func (c *SetupClock) record(role string, which func() *map[string]time.Time) {
	if c == nil || role != RoleClient && role != RoleServer {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	into := which()
	if *into == nil {
		*into = map[string]time.Time{}
	}
	if _, known := (*into)[role]; !known {
		(*into)[role] = time.Now()
	}
}

// FindsOut reports whether the clock's owner finds out whether the endpoints reach each other.
func (c *SetupClock) FindsOut() bool { return c != nil && c.Reaches }

// Pair records that both endpoints of the first pair exist, and calls OnPair.
func (c *SetupClock) Pair(client, server InStack, listen, dial []netip.AddrPort) {
	if c == nil {
		return
	}
	c.mu.Lock()
	first := c.paired.IsZero()
	if first {
		c.paired = time.Now()
	}
	c.mu.Unlock()
	if first && c.OnPair != nil {
		c.OnPair(client, server, listen, dial)
	}
}

// Answer is when the server of the first pair was reached, as a driver found out by itself.
type Answer struct {
	First     time.Time // the first attempt began
	Connected time.Time // the first SYN was answered
	FirstByte time.Time // of an HTTP response with status 200
	Whole     time.Time // that response had arrived
	Attempts  int       // that were begun
}

// Answered takes the place of Pair where this program can open no sockets in the stacks of the endpoints.
func (c *SetupClock) Answered(a Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paired, c.answer = time.Now(), &a
}

// Answer returns what Answered has recorded, nil for nothing.
func (c *SetupClock) Answer() *Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answer
}

// Step records how long a named step took by which the server of the first pair is connected or, when the path is closed,
// disconnected. Times of the same name add up.
func (c *SetupClock) Step(name string, took time.Duration) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.steps == nil {
		c.steps = map[string]time.Duration{}
	}
	c.steps[name] += took
}

// Steps returns the time of each step that was recorded.
func (c *SetupClock) Steps() map[string]time.Duration {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.steps)
}

// Times returns the moments of the set-up; ok is false before both endpoints exist, and if the driver has not said when
// it began.
func (c *SetupClock) Times() (t SetupTimes, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t = SetupTimes{Begun: c.lab, Exists: c.paired, Both: c.paired, Paired: c.paired}
	var last time.Time
	for _, role := range []string{RoleClient, RoleServer} {
		begun, sandboxed := c.begun[role]
		if !sandboxed {
			continue
		}
		exists, said := c.exists[role]
		if !said {
			exists = c.paired
		}
		if exists.After(last) {
			last = exists
		}
		t.Begun, t.Exists, t.Both = begun, exists, last
	}
	return t, !t.Begun.IsZero() && !t.Paired.IsZero()
}
