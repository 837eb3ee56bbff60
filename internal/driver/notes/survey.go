package notes

import (
	"context"

	"tare/internal/driver"
)

// Surveyed is what a Stack may be beside: one whose settings can be read from here.
type Surveyed interface {
	Survey(ctx context.Context) (driver.Stack, error)
	// Tracked is false where the stack tracks no connections.
	Tracked(ctx context.Context) (t driver.Tracked, tracks bool, err error)
}

// Survey reads how the stacks that were noted are set, as far as that can be done
// from here.
func (p *Path) Survey(ctx context.Context) ([]driver.Stack, error) {
	var out []driver.Stack
	for _, at := range p.stood {
		s, ok := at.Stack.(Surveyed)
		if !ok {
			continue
		}
		found, err := s.Survey(ctx)
		if err != nil {
			return nil, err
		}
		found.At = at.At
		out = append(out, found)
	}
	return out, nil
}

// Tracked reads how full the connection tracking of those stacks is.
func (p *Path) Tracked(ctx context.Context) (map[string]driver.Tracked, error) {
	out := map[string]driver.Tracked{}
	for _, at := range p.stood {
		s, ok := at.Stack.(Surveyed)
		if !ok {
			continue
		}
		t, tracks, err := s.Tracked(ctx)
		if err != nil {
			return nil, err
		}
		if tracks {
			out[at.At] = t
		}
	}
	return out, nil
}
