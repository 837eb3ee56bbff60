package secure

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
)

// Error is what a peer did that TLS does not allow, or that the trial does not: its certificate, its version of TLS, an
// alert (RFC 8446, 6), or another protocol. It is one line.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// ErrNotTLS means that what was received first is no TLS.
var ErrNotTLS = errors.New("it does not speak TLS")

// handshakeError returns what a handshake failed with: an Error, ErrNotTLS, or that of the connection.
func handshakeError(err error) error {
	if header, ok := errors.AsType[tls.RecordHeaderError](err); ok && header.Conn != nil { // the first record
		return fmt.Errorf("%w: it starts with %q", ErrNotTLS, header.RecordHeader[:])
	}
	return streamError(err)
}

// streamError returns what a connection failed with: an Error, or that of the connection below it. The end of that in the
// middle of a record or of the handshake is io.ErrUnexpectedEOF.
func streamError(err error) error {
	var errno syscall.Errno
	var own *Error
	var of *net.OpError
	switch {
	case err == nil, errors.As(err, &own), errors.As(err, &errno), errors.Is(err, errEnded):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the peer closed the connection: %w", io.ErrUnexpectedEOF)
	case errors.As(err, &of) && of.Op == "remote error":
		return &Error{"it ended TLS with the alert: " + alert(of.Err)}
	case errors.As(err, &of) && of.Op == "local error":
		return &Error{"it does not keep to TLS: " + alert(of.Err)}
	}
	return &Error{"TLS failed: " + alert(err)}
}

// alert is an error of package tls without its prefix.
func alert(err error) string { return strings.TrimPrefix(err.Error(), "tls: ") }
