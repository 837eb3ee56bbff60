package notes

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

// Surveyed is a Stack whose settings can be read from here.
type Surveyed interface {
	Survey(ctx context.Context) (driver.Settings, error)
	// Tracked is false where the stack tracks no connections.
	Tracked(ctx context.Context) (t driver.Tracked, tracks bool, err error)
}

// Shared marks a Stack in which others have traffic too.
type Shared interface{ Shared() }

// Stands notes a network stack that traffic passes and no device of which is
// watched, so that its counters are read all the same.
func (p *Path) Stands(at Place) { p.stands(at) }

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
		if s, ok := at.Stack.(Surveyed); ok {
			n.Tracked = s.Tracked
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
