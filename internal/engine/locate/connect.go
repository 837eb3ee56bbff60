// Package locate finds the Docker Engine for a name, a context of the docker CLI or an address, and
// connects to it. If that fails, it reports why and how to fix it.
package locate

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"tare/internal/engine"
	"tare/internal/timelimit"
)

// connectTimeout bounds the first exchange with an engine, including an ssh login.
func connectTimeout() time.Duration { return timelimit.Scaled(30 * time.Second) }

// Connect finds an existing engine and identifies it. A target is one of
//
//	"" or docker                     as the docker CLI finds it: DOCKER_HOST, DOCKER_CONTEXT, current context, default socket
//	docker:CONTEXT                   a context of the docker CLI, with its TLS material
//	unix://PATH tcp://HOST:PORT      an address; TLS by DOCKER_TLS_VERIFY and DOCKER_CERT_PATH
//	npipe:////./pipe/NAME            a named pipe of Windows
//	ssh://[USER@]HOST[:PORT]         through ssh, where docker must be installed
//
// If the engine cannot be used, the error is an *engine.Unavailable. Connect changes nothing on the
// engine.
func Connect(ctx context.Context, target string) (*engine.Engine, error) {
	s, err := resolve(target)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(s.name, engine.Local{}, s.options...)
	if err != nil {
		return nil, unavailable(s.name, s.host, err.Error(), "use docker, docker:CONTEXT, unix://PATH, tcp://HOST:PORT or ssh://USER@HOST")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout(), fmt.Errorf("no answer within %s", connectTimeout()))
	defer cancel()
	e.Address = s.host
	if err := e.Negotiate(ctx); err != nil {
		_ = e.Disconnect() // it only has idle connections
		return nil, s.diagnose(ctx, err)
	}
	return e, nil
}

// ConnectThrough identifies the engine to which dial connects, wherever it is. name is for messages.
// If the engine cannot be used, the error is an *engine.Unavailable. It changes nothing on the
// engine.
func ConnectThrough(ctx context.Context, name string, dial func(context.Context) (net.Conn, error)) (*engine.Engine, error) {
	dialer := func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	e, err := engine.New(name, engine.Local{},
		client.WithHTTPClient(&http.Client{Transport: &http.Transport{DialContext: dialer}}),
		client.WithHost(throughHost), client.WithDialContext(dialer), client.WithAPIVersionFromEnv())
	if err != nil {
		return nil, unavailable(name, name, err.Error(), "report this as a defect of tare")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout(), fmt.Errorf("no answer within %s", connectTimeout()))
	defer cancel()
	if err = e.Negotiate(ctx); err == nil {
		return e, nil
	}
	_ = e.Disconnect() // it only has idle connections
	reason, fix := explainAnswer(err)
	if ctx.Err() != nil {
		reason = context.Cause(ctx).Error()
	}
	// The client wraps the error of dial, which says more.
	if conn, err := dial(context.WithoutCancel(ctx)); err != nil {
		reason, fix = oneLine(err.Error()), "or leave out the docker modes"
		if strings.Contains(reason, "permission denied") {
			fix = "allow that user to use the engine: run on that machine sudo usermod -aG docker USER"
		}
	} else {
		_ = conn.Close()
	}
	return nil, unavailable(name, name, reason, fix)
}

// throughHost is the name of the server in requests over a connection that is already there.
const throughHost = "http://docker.example.com"

// Local reports whether the engine of a target, as Connect takes it, is reached through this
// machine only: a socket, a named pipe, or a port of the loopback device. The engine itself may run in
// a virtual machine. It opens no connection.
func Local(target string) bool {
	s, err := resolve(target)
	return err == nil && IsLocal(s.host)
}

// Socket returns the path of the Unix socket of a target, as Connect takes it; empty if it has none. It opens no connection.
func Socket(target string) string {
	s, err := resolve(target)
	if path, is := strings.CutPrefix(s.host, "unix://"); err == nil && is {
		return path
	}
	return ""
}

// IsLocal is Local for the address of an engine.
func IsLocal(address string) bool {
	scheme, rest, _ := strings.Cut(address, "://")
	switch scheme {
	case "unix", "npipe":
		return true
	case "tcp":
		host, _, _ := strings.Cut(rest, "/")
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
		return host == "localhost" || err == nil && addr.IsLoopback()
	}
	return false
}
