// Package locate finds the Docker Engine that a name, a context of the docker CLI or an
// address means, connects to it, and says why that cannot be done and what to do about it.
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

// connectTimeout bounds the first exchange with an engine, a login by ssh included.
const connectTimeout = 30 * time.Second

// Connect finds an existing engine and asks it who it is. A target is one of
//
//	"" or docker                     as the docker CLI finds it: DOCKER_HOST, DOCKER_CONTEXT, current context, default socket
//	docker:CONTEXT                   a context of the docker CLI, with its TLS material
//	unix://PATH tcp://HOST:PORT      an address; TLS by DOCKER_TLS_VERIFY and DOCKER_CERT_PATH
//	ssh://[USER@]HOST[:PORT]         through ssh, where docker must be installed
//
// What keeps the engine from being used is an *engine.Unavailable error. Nothing is
// changed on the engine.
func Connect(ctx context.Context, target string) (*engine.Engine, error) {
	s, err := resolve(target)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(s.name, engine.Local{}, s.options...)
	if err != nil {
		return nil, unavailable(s.name, s.host, err.Error(), "write docker, docker:CONTEXT, unix://PATH, tcp://HOST:PORT or ssh://USER@HOST")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("no answer within %s", connectTimeout))
	defer cancel()
	if err := e.Negotiate(ctx); err != nil {
		_ = e.Disconnect() // it holds no more than idle connections
		return nil, s.diagnose(ctx, err)
	}
	return e, nil
}

// Local reports whether the engine that a target names, as Connect takes it, is on this
// machine, as far as the name tells.
func Local(target string) bool {
	if target == "docker" {
		target = cmp.Or(os.Getenv(envHost), "unix://")
	}
	return strings.HasPrefix(target, "unix://")
}
