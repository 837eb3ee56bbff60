package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
)

// MinAPI is the oldest version of the Engine API that is spoken: Docker 19.03.
const MinAPI = "1.40"

// connectWait bounds the first exchange with an engine, a login by ssh included.
const connectWait = 30 * time.Second

// Connect finds an existing engine and asks it who it is. A target is one of
//
//	"" or docker                     as the docker CLI finds it: DOCKER_HOST, DOCKER_CONTEXT, current context, default socket
//	docker:CONTEXT                   a context of the docker CLI, with its TLS material
//	unix://PATH tcp://HOST:PORT      an address; TLS by DOCKER_TLS_VERIFY and DOCKER_CERT_PATH
//	ssh://[USER@]HOST[:PORT]         through ssh, where docker must be installed
//
// What keeps the engine from being used is an *Unavailable error. Nothing is
// changed on the engine.
func Connect(ctx context.Context, target string) (*Engine, error) {
	s, err := resolve(target)
	if err != nil {
		return nil, err
	}
	api, err := client.New(s.options...)
	if err != nil {
		return nil, unavailable(s.name, s.host, err.Error(), "write docker, docker:CONTEXT, unix://PATH, tcp://HOST:PORT or ssh://USER@HOST")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectWait, fmt.Errorf("no answer within %s", connectWait))
	defer cancel()
	e := &Engine{Name: s.name, api: api}
	if err := e.greet(ctx); err != nil {
		_ = api.Close() // it holds no more than idle connections
		return nil, s.diagnose(ctx, err)
	}
	return e, nil
}

// greet agrees on a version of the API and asks the engine what it is.
func (e *Engine) greet(ctx context.Context) error {
	pong, err := e.api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	if err != nil {
		return err
	}
	if pong.APIVersion == "" {
		return fmt.Errorf("what answers names no version of the Engine API: %w", errdefs.ErrNotFound)
	}
	// A version that the environment fixes is not negotiated.
	if v := e.api.ClientVersion(); versions.LessThan(v, MinAPI) {
		return fmt.Errorf("DOCKER_API_VERSION asks for %s, and the minimum supported API version is %s", v, MinAPI)
	}
	return e.identify(ctx)
}

// Disconnect lets go of the connections to the engine. What was made on it stays.
func (e *Engine) Disconnect() error { return e.api.Close() }
