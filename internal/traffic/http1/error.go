package http1

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotHTTP means that what was received is no message of HTTP/1.
var ErrNotHTTP = errors.New("it does not speak HTTP/1")

// ErrTruncated means that the connection ended within a message.
var ErrTruncated = errors.New("the connection ended within the message")

// Error is what is wrong with a message. A server answers a request with Status and closes the connection.
type Error struct {
	Status int
	Text   string
	// Other is set if the peer speaks another protocol: the error then is ErrNotHTTP.
	Other bool
}

func (e *Error) Error() string { return e.Text }

// Is makes the error of another protocol ErrNotHTTP.
func (e *Error) Is(target error) bool { return e.Other && target == ErrNotHTTP } //nolint:errorlint // Is is what errors.Is calls

func bad(format string, args ...any) *Error {
	return &Error{Status: StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// otherProtocol returns the error for a message that starts like none of HTTP/1, with what it looks like.
func otherProtocol(start []byte) *Error {
	what := fmt.Sprintf("it starts with %q", start[:min(len(start), 40)])
	switch text := string(start); {
	case len(start) >= 2 && start[0] >= 0x14 && start[0] <= 0x17 && start[1] == 3:
		what = "it sent a TLS record"
	case strings.HasPrefix(text, "SSH-"):
		what = "it is an SSH server"
	}
	return &Error{Status: StatusBadRequest, Text: fmt.Sprintf("%v: %s", ErrNotHTTP, what), Other: true}
}
