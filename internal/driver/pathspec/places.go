package pathspec

import (
	"context"
	"slices"

	"tare/internal/driver"
	"tare/internal/observe/netstack"
)

// Reader is a Stack whose counters can be read as a whole.
type Reader interface {
	Read(ctx context.Context) (netstack.Reading, error)
}

// SettingsReader is a Stack whose settings can be read from here.
type SettingsReader interface {
	Survey(ctx context.Context) (driver.Settings, error)
	// ReadTracked is false where the stack tracks no connections.
	ReadTracked(ctx context.Context) (t driver.ConnTrack, tracks bool, err error)
}

// Shared marks a Stack in which others have traffic too.
type Shared interface{ Shared() }

// AddStack notes a network stack that traffic passes and no device of which is
// watched, so that its counters are read all the same.
func (p *Path) AddStack(at Place) { p.stands(at) }

func (p *Path) stands(at Place) {
	if !slices.ContainsFunc(p.stood, func(s Place) bool { return s.Stack == at.Stack }) {
		p.stood = append(p.stood, at)
	}
}

// placeOf is the name of a stack: that under which it was first noted.
func (p *Path) placeOf(at Place) string {
	i := slices.IndexFunc(p.stood, func(s Place) bool { return s.Stack == at.Stack })
	return p.stood[i].At
}

// stacks are the network stacks that were noted, with what can be asked of each.
func (p *Path) stacks() []driver.NetworkStack {
	var out []driver.NetworkStack
	for _, at := range p.stood {
		_, shared := at.Stack.(Shared)
		n := driver.NetworkStack{Name: at.At, Shared: shared}
		if r, ok := at.Stack.(Reader); ok {
			n.Read = r.Read
		}
		if s, ok := at.Stack.(SettingsReader); ok {
			n.ReadTracked = s.ReadTracked
			n.Survey = func(ctx context.Context) (driver.Settings, error) {
				found, err := s.Survey(ctx)
				found.At = at.At
				return found, err
			}
		}
		out = append(out, n)
	}
	return out
}
