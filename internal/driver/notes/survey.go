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

// places are the network stacks of the path, from client to server as far as they
// were drawn, each once.
func (p *Path) places() []Place {
	var out []Place
	seen := map[Stack]bool{}
	add := func(at Place) {
		if at.Stack != nil && !seen[at.Stack] {
			seen[at.Stack] = true
			out = append(out, at)
		}
	}
	for _, s := range p.steps {
		add(s.at)
	}
	for _, l := range p.links {
		add(l.at)
	}
	return out
}

// Survey reads how those stacks are set that can be read from here.
func (p *Path) Survey(ctx context.Context) ([]driver.Stack, error) {
	var out []driver.Stack
	for _, at := range p.places() {
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
	for _, at := range p.places() {
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
