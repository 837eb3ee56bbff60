package locate

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/connhelper"
	"github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
	"github.com/docker/go-connections/tlsconfig"
	"github.com/moby/moby/client"

	"tare/internal/timelimit"
)

// The environment variables of the docker CLI, which tare uses as well.
const (
	envHost    = "DOCKER_HOST"
	envContext = "DOCKER_CONTEXT"
	envConfig  = "DOCKER_CONFIG"
	envCerts   = "DOCKER_CERT_PATH"
	envTLS     = "DOCKER_TLS"        // any value: TLS without verification of the engine
	envVerify  = "DOCKER_TLS_VERIFY" // any value: TLS, and the engine must have a certificate of the CA
)

// defaultContext is the docker CLI's name for using no context.
const defaultContext = "default"

// source is an engine that is named but not yet connected to.
type source struct {
	name    string // for people
	host    string // unix://, tcp://, ssh:// or npipe://
	context string // of the docker CLI; empty for an address
	options []client.Opt
}

// resolve finds the engine of a target. It reads the environment and the docker CLI's files, and
// opens no connection.
func resolve(target string) (source, error) {
	if target == "" || target == "docker" {
		return cliSource()
	}
	if name, ok := strings.CutPrefix(target, "docker:"); ok && name != "" {
		return contextSource(target, name)
	}
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || rest == "" || !slices.Contains([]string{"unix", "tcp", "ssh", "npipe"}, scheme) {
		return source{}, fmt.Errorf("%q does not name an engine; use docker, docker:CONTEXT, unix://PATH, tcp://HOST:PORT, npipe://PATH or ssh://USER@HOST", target)
	}
	return addressSource(target, target)
}

// cliSource returns the engine that the docker command would use: DOCKER_HOST, else the context of
// DOCKER_CONTEXT, else the current one, else the default socket.
func cliSource() (source, error) {
	if host := os.Getenv(envHost); host != "" {
		return addressSource("docker (DOCKER_HOST)", host)
	}
	if name := os.Getenv(envContext); name != "" {
		return contextSource("docker, DOCKER_CONTEXT "+name, name)
	}
	name, err := currentContext()
	if err != nil {
		return source{}, err
	}
	if name != "" {
		return contextSource("docker, current context "+name, name)
	}
	return contextSource("docker", defaultContext)
}

// configDir returns the directory of the docker CLI's files.
func configDir() string {
	if dir := os.Getenv(envConfig); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/" // as the docker CLI does; there is no context then
	}
	return filepath.Join(home, ".docker")
}

// currentContext returns the context that `docker context use` has selected, if any.
func currentContext() (string, error) {
	path := filepath.Join(configDir(), "config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil // the docker CLI also continues without it
	}
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return "", unavailable("docker", path, fmt.Sprintf("the docker CLI's configuration cannot be read: %v", err), "fix that file, or set the engine: --engine unix:///var/run/docker.sock")
	}
	return oneLine(config.CurrentContext), nil
}

// contextSource returns the engine of a context of the docker CLI.
func contextSource(name, context string) (source, error) {
	if context == defaultContext {
		host := os.Getenv(envHost)
		if host == "" {
			host = defaultHost()
		}
		return addressSource(name, host)
	}
	dir := filepath.Join(configDir(), "contexts")
	contexts := store.New(dir, store.NewConfig(func() any { return &map[string]any{} },
		store.EndpointTypeGetter(docker.DockerEndpoint, func() any { return &docker.EndpointMeta{} })))
	fail := func(err error) (source, error) {
		return source{}, unavailable(name, "the context "+context+" in "+dir, err.Error(), "docker context ls lists the contexts, docker context inspect "+context+" shows this one")
	}
	meta, err := contexts.GetMetadata(context)
	if errdefs.IsNotFound(err) {
		err = errors.New("no such context")
	}
	if err != nil {
		return fail(err)
	}
	endpoint, err := docker.EndpointFromContext(meta)
	if err != nil {
		return fail(err)
	}
	withTLS, err := docker.WithTLSData(contexts, context, endpoint)
	if err != nil {
		return fail(err)
	}
	options, err := withTLS.ClientOpts()
	if err != nil {
		return fail(err)
	}
	if endpoint.Host == "" {
		return fail(errors.New("it has no address of an engine"))
	}
	return source{name: name, host: endpoint.Host, context: context, options: options}, nil
}

// defaultHost returns the default address of an engine. Docker Desktop for macOS creates the default
// socket on request only; its own one is in the user's directory.
func defaultHost() string {
	if runtime.GOOS == "darwin" {
		own := filepath.Join(configDir(), "run", "docker.sock")
		_, missing := os.Stat(strings.TrimPrefix(client.DefaultDockerHost, "unix://"))
		if _, err := os.Stat(own); err == nil && missing != nil {
			return "unix://" + own
		}
	}
	return client.DefaultDockerHost
}

// addressSource returns the engine at an address, with the TLS settings of the environment.
func addressSource(name, host string) (source, error) {
	s := source{name: name, host: host}
	fail := func(tried string, err error, fix string) (source, error) {
		return s, unavailable(name, tried, err.Error(), fix)
	}
	helper, err := connhelper.GetConnectionHelper(host)
	if err != nil {
		return fail(host, err, "use ssh://USER@HOST[:PORT]")
	}
	if helper != nil {
		s.options = []client.Opt{
			client.WithHTTPClient(&http.Client{Transport: &http.Transport{DialContext: helper.Dialer}}),
			client.WithHost(helper.Host), client.WithDialContext(helper.Dialer), client.WithAPIVersionFromEnv(),
		}
		return s, nil
	}
	if strings.HasPrefix(host, "tcp://") && (os.Getenv(envVerify) != "" || os.Getenv(envTLS) != "") {
		config, dir, err := environmentTLS()
		if err != nil {
			return fail("the certificates in "+dir, err, "put ca.pem, cert.pem and key.pem there, or set DOCKER_CERT_PATH")
		}
		s.options = append(s.options, client.WithHTTPClient(&http.Client{
			Transport:     &http.Transport{TLSClientConfig: config, DialContext: (&net.Dialer{Timeout: dialTimeout()}).DialContext},
			CheckRedirect: client.CheckRedirect,
		}))
	}
	s.options = append(s.options, client.WithHost(host), client.WithAPIVersionFromEnv())
	return s, nil
}

// dialTimeout bounds the time to open one TCP connection.
func dialTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// environmentTLS returns the TLS configuration from DOCKER_TLS_VERIFY or DOCKER_TLS and
// DOCKER_CERT_PATH, and the directory of the certificates. The client's own certificate may be
// missing, because not every engine requires one.
func environmentTLS() (*tls.Config, string, error) {
	dir := os.Getenv(envCerts)
	if dir == "" {
		dir = configDir()
	}
	o := tlsconfig.Options{ExclusiveRootPools: true, InsecureSkipVerify: os.Getenv(envVerify) == ""}
	for _, f := range []struct {
		at   *string
		name string
	}{{&o.CAFile, "ca.pem"}, {&o.CertFile, "cert.pem"}, {&o.KeyFile, "key.pem"}} {
		path := filepath.Join(dir, f.name)
		if _, err := os.Stat(path); err == nil {
			*f.at = path
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, dir, err
		}
	}
	if o.CAFile == "" && !o.InsecureSkipVerify {
		return nil, dir, errors.New("there is no ca.pem, and DOCKER_TLS_VERIFY requires one")
	}
	config, err := tlsconfig.Client(o)
	return config, dir, err
}
