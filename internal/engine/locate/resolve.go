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
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/connhelper"
	"github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
	"github.com/docker/go-connections/tlsconfig"
	"github.com/moby/moby/client"
)

// The environment of the docker CLI, which is honoured here too.
const (
	envHost    = "DOCKER_HOST"
	envContext = "DOCKER_CONTEXT"
	envConfig  = "DOCKER_CONFIG"
	envCerts   = "DOCKER_CERT_PATH"
	envTLS     = "DOCKER_TLS"        // any value: TLS without asking who the engine is
	envVerify  = "DOCKER_TLS_VERIFY" // any value: TLS, and the engine must show a certificate of the CA
)

// defaultContext is the docker CLI's name for no context.
const defaultContext = "default"

// source is an engine that is named but has not been spoken to.
type source struct {
	name    string // for people
	host    string // unix://, tcp://, ssh:// or npipe://
	context string // of the docker CLI; empty where the address was given
	options []client.Opt
}

// resolve finds what a target names. It looks at the environment and at the docker
// CLI's files, and opens no connection.
func resolve(target string) (source, error) {
	if target == "" || target == "docker" {
		return cliSource()
	}
	if name, ok := strings.CutPrefix(target, "docker:"); ok && name != "" {
		return contextSource(target, name)
	}
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || rest == "" || !slices.Contains([]string{"unix", "tcp", "ssh", "npipe"}, scheme) {
		return source{}, fmt.Errorf("%q names no engine: it takes docker, docker:CONTEXT, unix://PATH, tcp://HOST:PORT or ssh://USER@HOST", target)
	}
	return addressSource(target, target)
}

// cliSource is the engine that the docker command would talk to: DOCKER_HOST, else the
// context of DOCKER_CONTEXT, else the current one, else the default socket.
func cliSource() (source, error) {
	if host := os.Getenv(envHost); host != "" {
		return addressSource("docker, by DOCKER_HOST", host)
	}
	if name := os.Getenv(envContext); name != "" {
		return contextSource("docker, by DOCKER_CONTEXT "+name, name)
	}
	name, err := currentContext()
	if err != nil {
		return source{}, err
	}
	if name != "" {
		return contextSource("docker, by the current context "+name, name)
	}
	return contextSource("docker", defaultContext)
}

// configDir is where the docker CLI keeps its files.
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

// currentContext is the context that `docker context use` has chosen, if any.
func currentContext() (string, error) {
	path := filepath.Join(configDir(), "config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil // the docker CLI goes on without it too
	}
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return "", unavailable("docker", path, fmt.Sprintf("the docker CLI's configuration cannot be read: %v", err), "mend that file, or name the engine: --engine unix:///var/run/docker.sock")
	}
	return config.CurrentContext, nil
}

// contextSource is the engine of a context of the docker CLI.
func contextSource(name, context string) (source, error) {
	if context == defaultContext {
		host := os.Getenv(envHost)
		if host == "" {
			host = client.DefaultDockerHost
		}
		return addressSource(name, host)
	}
	dir := filepath.Join(configDir(), "contexts")
	contexts := store.New(dir, store.NewConfig(func() any { return &map[string]any{} },
		store.EndpointTypeGetter(docker.DockerEndpoint, func() any { return &docker.EndpointMeta{} })))
	fail := func(err error) (source, error) {
		return source{}, unavailable(name, "the context "+context+" in "+dir, err.Error(), "docker context ls shows those there are, docker context inspect "+context+" what it says")
	}
	meta, err := contexts.GetMetadata(context)
	if errdefs.IsNotFound(err) {
		err = errors.New("there is no such context")
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
		return fail(errors.New("it holds no address of an engine"))
	}
	return source{name: name, host: endpoint.Host, context: context, options: options}, nil
}

// addressSource is the engine at an address, with the TLS that the environment asks
// for.
func addressSource(name, host string) (source, error) {
	s := source{name: name, host: host}
	fail := func(tried string, err error, mend string) (source, error) {
		return s, unavailable(name, tried, err.Error(), mend)
	}
	helper, err := connhelper.GetConnectionHelper(host)
	if err != nil {
		return fail(host, err, "write ssh://USER@HOST[:PORT]")
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
			Transport:     &http.Transport{TLSClientConfig: config, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext},
			CheckRedirect: client.CheckRedirect,
		}))
	}
	s.options = append(s.options, client.WithHost(host), client.WithAPIVersionFromEnv())
	return s, nil
}

// dialTimeout bounds the opening of one TCP connection.
const dialTimeout = 10 * time.Second

// environmentTLS is the TLS that DOCKER_TLS_VERIFY or DOCKER_TLS and
// DOCKER_CERT_PATH ask for, and the directory it came from. The client's own
// certificate may be missing: not every engine asks for one.
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
		return nil, dir, errors.New("there is no ca.pem, and DOCKER_TLS_VERIFY asks for one")
	}
	config, err := tlsconfig.Client(o)
	return config, dir, err
}
