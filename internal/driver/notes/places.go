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

// Places lists the network stacks that were noted, as far as they can be read.
func (p *Path) Places() []driver.Place {
	var out []driver.Place
	for _, s := range p.stood {
		if r, ok := s.Stack.(Reader); ok {
			_, shared := s.Stack.(Shared)
			out = append(out, driver.Place{Name: s.At, Shared: shared, Read: r.Read})
		}
	}
	return out
}
