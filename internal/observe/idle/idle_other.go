//go:build !linux

package idle

// Reader cannot exist on this system.
type Reader struct{}

// Open always fails on this system.
func Open(string) (*Reader, error) { return nil, ErrNone }

// Read returns nothing.
func (r *Reader) Read() []Reading { return nil }

// Close does nothing.
func (r *Reader) Close() {}
