package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// The categories of an engine's errors, for errors.Is. Each is also the part of the message that
// says what to do.
var (
	ErrNotFound     = errors.New("no such object on this engine")
	ErrNameTaken    = errors.New("the name is already in use; remove the object that has it (tare gc removes what dead runs left)")
	ErrPortTaken    = errors.New("the port is already in use on that host; stop the program that listens there or choose another port")
	ErrOverlap      = errors.New("its addresses overlap those of another network of that host; choose another subnet")
	ErrNoAddress    = errors.New("the network has no free address; remove containers from it or choose a larger subnet")
	ErrAddressTaken = errors.New("the address is already in use on that network; choose another")
	ErrNoDriver     = errors.New("the engine has no such network driver; check its name, and install or start its plugin")
	ErrGone         = errors.New("the engine does not answer; check that it is running")
)

func isNotFound(err error) bool { return errdefs.IsNotFound(err) }

// isConflict reports whether an object is still in use.
func isConflict(err error) bool {
	return errdefs.IsConflict(err) || errdefs.IsPermissionDenied(err) && strings.Contains(err.Error(), "active endpoints")
}

// isUnreachable reports whether an engine did not answer at all.
func isUnreachable(err error) bool {
	var transport *url.Error
	if errors.Is(err, errAnswer) {
		return false
	}
	return client.IsErrConnectionFailed(err) || errors.Is(err, errLate) || errors.As(err, &transport) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// errorTexts maps error texts of the engine to categories where the API has no codes. Texts are
// matched in lower case; the first match counts.
func errorTexts() []struct {
	text string
	kind error
} {
	return []struct {
		text string
		kind error
	}{
		{"is already in use by container", ErrNameTaken},
		{"port is already allocated", ErrPortTaken},
		{"bind: address already in use", ErrPortTaken},
		{"address already in use", ErrAddressTaken},
		{"pool overlaps", ErrOverlap},
		{"overlaps with", ErrOverlap},
		{"conflicts with network", ErrOverlap},
		{"no available ip", ErrNoAddress},
		{"no available addresses", ErrNoAddress},
		{"could not find an available", ErrNoAddress},
		{"error looking up network plugin", ErrNoDriver},
		{"could not find network driver", ErrNoDriver},
	}
}

// kind returns the category of an engine's error, nil if it has none.
func kind(err error) error {
	if isUnreachable(err) {
		return ErrGone
	}
	text := strings.ToLower(Message(err))
	for _, r := range errorTexts() {
		if strings.Contains(text, r.text) {
			return r.kind
		}
	}
	switch {
	case strings.Contains(text, "plugin ") && strings.Contains(text, "not found"):
		return ErrNoDriver
	case strings.Contains(text, "network with name") && strings.Contains(text, "already exists"):
		return ErrNameTaken
	case isNotFound(err):
		return ErrNotFound
	}
	return nil
}

// failure is an engine's error on one line, with its category.
type failure struct {
	text string
	of   []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.of }

// fail formats an error of the engine on one line: what was attempted, on which engine, why it
// failed and how to fix it.
func (e *Engine) fail(err error, doing string, args ...any) error {
	f := &failure{fmt.Sprintf("engine %s: %s: %s", e.Name, fmt.Sprintf(doing, args...), Message(err)), []error{err}}
	if k := kind(err); k != nil {
		f.of = append(f.of, k)
		if k != ErrNotFound { //nolint:errorlint // the text already says it
			f.text += " (" + k.Error() + ")"
		}
	}
	return f
}

// Message returns an engine's message without its common prefix, and without advice that tare gives
// itself.
func Message(err error) string {
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	text, _, _ = strings.Cut(text, " You have to remove (or rename)")
	return strings.Join(strings.Fields(text), " ")
}

// Unavailable is the error for an engine that cannot be used. Its text is one line with the engine,
// what was tried, why that failed and how to fix it.
type Unavailable struct {
	Engine   string // as the user named it, or how it was found
	Tried    string // the address or step, such as unix:///var/run/docker.sock
	Reason   string
	Fix      string // what to do, with the command if there is one
	NotFound bool   // there is nothing at that address, which is not worth reporting when engines are searched for
}

func (u *Unavailable) Error() string {
	if u.Tried == u.Engine {
		return fmt.Sprintf("engine %s: %s; %s", u.Engine, u.Reason, u.Fix)
	}
	return fmt.Sprintf("engine %s (%s): %s; %s", u.Engine, u.Tried, u.Reason, u.Fix)
}

// AsUnavailable finds an Unavailable error in err.
func AsUnavailable(err error) (*Unavailable, bool) {
	var u *Unavailable
	ok := errors.As(err, &u)
	return u, ok
}
