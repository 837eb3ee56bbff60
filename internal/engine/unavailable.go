package engine

import (
	"errors"
	"fmt"
)

// Unavailable says why an engine cannot be used: its error is one line that names
// the engine, what was tried, why that failed and what mends it.
type Unavailable struct {
	Engine string // as the user named it, or how it was found
	Tried  string // the address or step, such as unix:///var/run/docker.sock
	Why    string
	Mend   string // what to do, with the command where there is one
	Absent bool   // nothing there can be an engine: no news to who only looks for one
}

func unavailable(name, tried, why, mend string) *Unavailable {
	return &Unavailable{Engine: name, Tried: tried, Why: short(why), Mend: mend}
}

func (u *Unavailable) Error() string {
	if u.Tried == u.Engine {
		return fmt.Sprintf("engine %s: %s; %s", u.Engine, u.Why, u.Mend)
	}
	return fmt.Sprintf("engine %s (%s): %s; %s", u.Engine, u.Tried, u.Why, u.Mend)
}

// AsUnavailable finds an Unavailable error in err.
func AsUnavailable(err error) (*Unavailable, bool) {
	var u *Unavailable
	ok := errors.As(err, &u)
	return u, ok
}
