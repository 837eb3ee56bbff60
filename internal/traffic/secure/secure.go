// Package secure carries the connections of a trial in TLS 1.3. The server makes a certificate for the trial, whose
// private key never leaves its process; the client accepts only that one, by the trial's token. It allocates, and so
// is not for loops that must not.
package secure

import (
	"context"
	"crypto/tls"
	"time"

	"tare/internal/traffic/socket"
)

// The protocols that are spoken inside (ALPN, RFC 7301).
const (
	HTTP1 = "http/1.1"
	HTTP2 = "h2"
)

// Server is the server's end of a trial's connections. It may be used by several goroutines.
type Server struct{ config *tls.Config }

// NewServer makes the certificate of the trial with that token. It speaks that protocol inside, and with resumption gives tickets to
// clients. The error is that of the system's random numbers.
func NewServer(protocol, token string, resumption bool) (*Server, error) {
	c, err := Certificate(token, time.Now())
	if err != nil {
		return nil, err
	}
	config := settings(protocol)
	config.Certificates, config.SessionTicketsDisabled = []tls.Certificate{c}, !resumption
	return &Server{config}, nil
}

// settings are those that both ends have. They do not depend on what the version of Go prefers, apart from the cipher,
// which it chooses by what the CPU has instructions for. A record is as large as possible from the first on.
func settings(protocol string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{protocol}, DynamicRecordSizingDisabled: true,
		CurvePreferences: []tls.CurveID{tls.X25519MLKEM768, tls.X25519, tls.CurveP256},
	}
}

// Accept does the handshake on a connection that was accepted. If it fails, the connection stays open. The error is one of
// Stream, or ErrNotTLS. ctx bounds the handshake and, until another is set, what is sent.
func (s *Server) Accept(ctx context.Context, c socket.Stream) (*Stream, error) {
	raw := &pipe{under: c, ctx: ctx}
	return begin(raw, tls.Server(raw, s.config))
}

// Client is the client's end of a trial's connections. It may be used by several goroutines.
type Client struct{ config *tls.Config }

// sessions is how many sessions a client keeps: those of one server.
const sessions = 4

// NewClient returns a client that accepts the server of the trial with that token. With resumption, connections after
// the first resume its session (RFC 8446, 2.2) where the server allows it. A server that names no protocol may speak HTTP/1.1
// only (RFC 9113, 3.3).
func NewClient(protocol, token string, resumption bool) *Client {
	config := settings(protocol)
	config.InsecureSkipVerify = true // no authority has signed the certificate: check replaces that
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if err := check(token, s.PeerCertificates, time.Now()); err != nil {
			return err
		}
		if s.NegotiatedProtocol == "" && protocol != HTTP1 {
			return &Error{"it does not speak HTTP/2: it names no protocol that it speaks in TLS (ALPN)"}
		}
		return nil
	}
	if resumption {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(sessions)
	}
	return &Client{config}
}

// Open is Accept for a connection that was opened.
func (c *Client) Open(ctx context.Context, s socket.Stream) (*Stream, error) {
	raw := &pipe{under: s, ctx: ctx}
	return begin(raw, tls.Client(raw, c.config))
}

// begin does the handshake. The context of package tls would close the connection below while that is in use.
func begin(raw *pipe, c *tls.Conn) (*Stream, error) {
	raw.whole = true
	if err := c.HandshakeContext(context.Background()); err != nil {
		return nil, handshakeError(err)
	}
	raw.whole = false
	return &Stream{Stream: raw.under, tls: c, raw: raw}, nil
}
