package pathspec

import (
	"context"
	"slices"

	"tare/internal/driver"
	"tare/internal/observe/netstack"
)

// Reader is a Stack that can read all counters of the network stack.
type Reader interface {
	Read(ctx context.Context) (netstack.Reading, error)
}

// SettingsReader is a Stack whose settings can be read.
type SettingsReader interface {
	Survey(ctx context.Context) (driver.Settings, error)
	// tracks is false if the stack does not track connections.
	ReadTracked(ctx context.Context) (t driver.ConnTrack, tracks bool, err error)
}

// Shared marks a Stack that carries other traffic too.
type Shared interface{ Shared() }

// AddStack adds a network stack on the path none of whose devices is read, so that its
// counters are read nevertheless.
func (p *Path) AddStack(at Place) { p.addStack(at) }

func (p *Path) addStack(at Place) {
	if !slices.ContainsFunc(p.places, func(s Place) bool { return s.Stack == at.Stack }) {
		p.places = append(p.places, at)
	}
}

// stackName returns the name of a stack: the one under which it was first added.
func (p *Path) stackName(at Place) string {
	i := slices.IndexFunc(p.places, func(s Place) bool { return s.Stack == at.Stack })
	return p.places[i].At
}

// Stacks returns the network stacks that were added, with the functions that each supports.
func (p *Path) Stacks() []driver.NetworkStack {
	var out []driver.NetworkStack
	for _, at := range p.places {
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
