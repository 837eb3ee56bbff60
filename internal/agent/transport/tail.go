package transport

import (
	"bytes"
	"sync"
)

// Tail keeps the end of what is written to it: the last words of an agent.
type Tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailSize = 2 << 10

// Write keeps b, and of what came before it as much as there is room for.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if extra := t.buf.Len() - tailSize; extra > 0 {
		t.buf.Next(extra)
	}
	return len(b), nil
}

// String is what has been kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
