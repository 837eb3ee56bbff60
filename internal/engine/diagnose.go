package engine

import "context"

// diagnose turns the failure to speak to an engine into a line that says what to
// do about it.
func (s source) diagnose(ctx context.Context, err error) error {
	_ = ctx
	return &Unavailable{s.name, s.host, err.Error(), "docker version tells whether the engine answers"}
}
