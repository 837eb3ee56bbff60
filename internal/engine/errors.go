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

// What an engine's refusal comes down to, for errors.Is. Each is also the part of
// the message that says what to do.
var (
	ErrNotFound     = errors.New("there is no such thing on this engine")
	ErrNameTaken    = errors.New("the name is taken: remove what has it (tare gc removes what dead runs left)")
	ErrPortTaken    = errors.New("the port is taken on that host: end what listens there, or choose another")
	ErrOverlap      = errors.New("its addresses overlap those of another network of that host: choose another subnet")
	ErrNoAddress    = errors.New("the network has no free address: remove what uses it, or choose a larger subnet")
	ErrAddressTaken = errors.New("the address is taken on that network: choose another")
	ErrNoDriver     = errors.New("the engine knows no such network driver: install or start its plugin, and mind the spelling")
	ErrGone         = errors.New("the engine does not answer: is it still running?")
)

func isNotFound(err error) bool { return errdefs.IsNotFound(err) }

// isConflict reports whether something is still in use.
func isConflict(err error) bool {
	return errdefs.IsConflict(err) || errdefs.IsPermissionDenied(err) && strings.Contains(err.Error(), "active endpoints")
}

// isUnreachable reports whether an engine gave no answer, not even a refusal.
func isUnreachable(err error) bool {
	var transport *url.Error
	return client.IsErrConnectionFailed(err) || errors.As(err, &transport) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// errorTexts tell what is meant by texts of the engine, for which its API has no
// codes. They are matched in lower case, the first that fits counts.
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

// kind is what an engine's error comes down to, nil where it is none of ours.
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

// failure is an error of an engine in one line, with what it comes down to.
type failure struct {
	text string
	of   []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.of }

// fail puts an error of the engine into one line: what was attempted, on which
// engine, why it failed and what mends it.
func (e *Engine) fail(err error, doing string, args ...any) error {
	f := &failure{fmt.Sprintf("engine %s: %s: %s", e.Name, fmt.Sprintf(doing, args...), Message(err)), []error{err}}
	if k := kind(err); k != nil {
		f.of = append(f.of, k)
		if k != ErrNotFound { //nolint:errorlint // the text says so already
			f.text += " (" + k.Error() + ")"
		}
	}
	return f
}

// Message is an engine's message without the prefix that every one has, and without
// the advice that is ours to give.
func Message(err error) string {
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	text, _, _ = strings.Cut(text, " You have to remove (or rename)")
	return strings.Join(strings.Fields(text), " ")
}

// Unavailable says why an engine cannot be used: its error is one line that names
// the engine, what was tried, why that failed and what mends it.
type Unavailable struct {
	Engine   string // as the user named it, or how it was found
	Tried    string // the address or step, such as unix:///var/run/docker.sock
	Reason   string
	Fix      string // what to do, with the command where there is one
	NotFound bool   // nothing there can be an engine: no news to who only looks for one
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
