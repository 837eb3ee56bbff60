// Package locate finds the Docker Engine for a name, a context of the docker CLI or an address, and
// connects to it. If that fails, it reports why and how to fix it.
package locate

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"tare/internal/engine"
)

// connectTimeout bounds the first exchange with an engine, including an ssh login.
const connectTimeout = 30 * time.Second

// Connect finds an existing engine and identifies it. A target is one of
//
//	"" or docker                     as the docker CLI finds it: DOCKER_HOST, DOCKER_CONTEXT, current context, default socket
//	docker:CONTEXT                   a context of the docker CLI, with its TLS material
//	unix://PATH tcp://HOST:PORT      an address; TLS by DOCKER_TLS_VERIFY and DOCKER_CERT_PATH
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
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("no answer within %s", connectTimeout))
	defer cancel()
	if err := e.Negotiate(ctx); err != nil {
		_ = e.Disconnect() // it only has idle connections
		return nil, s.diagnose(ctx, err)
	}
	return e, nil
}

// Local reports whether the engine of a target, as Connect takes it, is on this machine, judging by
// its name alone.
func Local(target string) bool {
	if target == "docker" {
		target = cmp.Or(os.Getenv(envHost), "unix://")
	}
	return strings.HasPrefix(target, "unix://")
}
