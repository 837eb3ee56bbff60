package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"tare/internal/agent"
	"tare/internal/study"
)

// HostNetwork as a container's network is the engine's own, without a namespace.
const HostNetwork = "host"

// ContainerSpec says what container to make. Its image is this program's.
type ContainerSpec struct {
	Run     string // whose it is; gc finds it by that
	Part    string // what it is to the run, such as client
	Name    string // see Name
	Network string // name or id, HostNetwork, or empty for the engine's default bridge
	// Addresses are fixed, at most one of each family, which needs a network with a
	// subnet of the user's; what is not here the engine gives.
	Addresses []netip.Addr
	Publish   []Publish
	Limit     study.Limit
	Sysctls   map[string]string // of the container's own network namespace, with dots; none on HostNetwork
}

// Publish makes a port of a container reachable at an address of its host, for TCP
// and UDP both.
type Publish struct {
	Host netip.AddrPort // an unspecified address is every one of the host's; the port must not be 0
	Port uint16         // in the container
}

// Container is a container that was started. It launches agents: each is a process
// of its own in the container, so that an agent can be ended and started again
// without a change to the container's devices and addresses.
type Container struct {
	ID, Name  string
	Limit     study.Limit // as read back from the engine
	Endpoints []Endpoint  // by network name; empty on HostNetwork
	engine    *Engine
	pid       int
}

// Endpoint is a container's place on a network.
type Endpoint struct {
	Network, NetworkID string
	Addresses          []netip.Prefix // IPv4 first
	Gateway            netip.Addr     // of IPv4; may be none
	MAC                string
}

// State is how a container is.
type State struct {
	Running  bool
	ExitCode int  // of one that has ended
	OOM      bool // it ran out of the memory it may use
	Error    string
	PID      int // in the engine's /proc, 0 unless running
}

// Name makes a name for an object of a run out of what tells it apart, with only
// what every engine allows in one.
func Name(run string, parts ...string) string {
	clean := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '.'
	}
	return strings.Map(clean, strings.Join(append([]string{"tare", run}, parts...), "-"))
}

// Run makes and starts a container. On error nothing of it is left. A limit that
// the engine does not apply is an error.
func (e *Engine) Run(ctx context.Context, spec ContainerSpec) (*Container, error) {
	for _, p := range spec.Publish {
		if p.Port == 0 || p.Host.Port() == 0 {
			return nil, fmt.Errorf("engine %s: make container %s: publish port %d at %s: both ports have to be named", e.Name, spec.Name, p.Port, p.Host)
		}
	}
	made, err := e.create(ctx, spec)
	if err != nil {
		return nil, err
	}
	c := &Container{ID: made.ID, Name: spec.Name, engine: e}
	if err := c.start(ctx, spec, made.Warnings); err != nil {
		return nil, errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (e *Engine) create(ctx context.Context, spec ContainerSpec) (made client.ContainerCreateResult, err error) {
	// Somebody may have removed the image meanwhile, such as by docker image prune.
	for range 2 {
		var image string
		if image, err = e.Image(ctx, spec.Run); err != nil {
			return made, err
		}
		made, err = e.api.ContainerCreate(ctx, order(spec, image))
		if err == nil {
			return made, nil
		}
		if !isNotFound(err) {
			break
		}
		e.images.forget(spec.Run)
	}
	return made, e.fail(err, "make container %s", spec.Name)
}

// order is what the API is asked for.
func order(spec ContainerSpec, image string) client.ContainerCreateOptions {
	on := spec.Network
	if on == "" {
		on = network.NetworkBridge
	}
	exposed, bound := ports(spec.Publish)
	o := client.ContainerCreateOptions{
		Name: spec.Name,
		Config: &container.Config{
			Image: image, Entrypoint: []string{Program}, Cmd: agent.PauseArguments(spec.Run, spec.Name),
			Labels:       labels(spec.Run, spec.Part),
			ExposedPorts: exposed,
		},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode(on), PortBindings: bound, Sysctls: spec.Sysctls,
			LogConfig: container.LogConfig{Type: "none"},
			// Agents set the congestion control and force buffers, as they can in a
			// namespace of the embedded driver.
			CapAdd: []string{"NET_ADMIN"},
			Resources: container.Resources{
				NanoCPUs: nanoCPUs(spec.Limit), Memory: int64(spec.Limit.Memory),
				// As much memory with swap as without: a hard limit.
				MemorySwap: int64(spec.Limit.Memory),
			},
		},
	}
	if len(spec.Addresses) > 0 {
		ipam := &network.EndpointIPAMConfig{}
		for _, a := range spec.Addresses {
			if a.Is4() {
				ipam.IPv4Address = a
			} else {
				ipam.IPv6Address = a
			}
		}
		o.NetworkingConfig = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{on: {IPAMConfig: ipam}}}
	}
	return o
}

func ports(list []Publish) (network.PortSet, network.PortMap) {
	if len(list) == 0 {
		return nil, nil
	}
	set, bound := network.PortSet{}, network.PortMap{}
	for _, p := range list {
		for _, proto := range []network.IPProtocol{network.TCP, network.UDP} {
			port, _ := network.PortFrom(p.Port, proto)
			set[port] = struct{}{}
			b := network.PortBinding{HostPort: strconv.Itoa(int(p.Host.Port()))}
			if !p.Host.Addr().IsUnspecified() {
				b.HostIP = p.Host.Addr()
			}
			bound[port] = append(bound[port], b)
		}
	}
	return set, bound
}

func (c *Container) start(ctx context.Context, spec ContainerSpec, warnings []string) error {
	e, began := c.engine, time.Now()
	if _, err := e.api.ContainerStart(ctx, c.ID, client.ContainerStartOptions{}); err != nil {
		return e.fail(err, "start container %s on network %s", c.Name, cmp.Or(spec.Network, network.NetworkBridge))
	}
	got, err := c.inspect(ctx)
	if err != nil {
		return err
	}
	c.read(got)
	if got.State != nil && !got.State.Running {
		return fmt.Errorf("engine %s: start container %s: it ended at once: %s", e.Name, c.Name, c.death(ctx, time.Since(began)))
	}
	if nanoCPUs(c.Limit) != nanoCPUs(spec.Limit) || c.Limit.Memory != spec.Limit.Memory {
		return fmt.Errorf("engine %s: limit container %s to %s: the engine applies %s%s: name limits that it can keep",
			e.Name, c.Name, limits(spec.Limit), limits(c.Limit), withWarnings(warnings))
	}
	return nil
}

// nanoCPUs is a limit's CPUs as the API takes them.
func nanoCPUs(l study.Limit) int64 { return int64(math.Round(l.CPUs * 1e9)) }

func limits(l study.Limit) string {
	if l == (study.Limit{}) {
		return "no limit"
	}
	var out []string
	if l.CPUs > 0 {
		out = append(out, fmt.Sprintf("%g CPUs", l.CPUs))
	}
	if l.Memory > 0 {
		out = append(out, l.Memory.String()+" of memory")
	}
	return strings.Join(out, " and ")
}

// withWarnings puts an engine's warnings behind what they explain.
func withWarnings(warnings []string) string {
	if len(warnings) == 0 {
		return ""
	}
	return " (" + strings.Join(warnings, " ") + ")"
}

// Addresses are those on the container's networks, IPv4 first on each.
func (c *Container) Addresses() []netip.Addr {
	var out []netip.Addr
	for _, e := range c.Endpoints {
		for _, p := range e.Addresses {
			out = append(out, p.Addr())
		}
	}
	return out
}

// PID is the container's first process, as the engine counts.
func (c *Container) PID() int { return c.pid }

// Remove ends and removes the container. One that is gone is no error.
func (c *Container) Remove(ctx context.Context) error {
	return c.engine.removeContainer(ctx, c.ID, c.Name)
}

func (e *Engine) removeContainer(ctx context.Context, id, name string) error {
	_, err := e.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || isNotFound(err) || e.ended(err) || isConflict(err) && strings.Contains(err.Error(), "already in progress") {
		return nil
	}
	return e.fail(err, "remove container %s", name)
}

func (c *Container) inspect(ctx context.Context) (container.InspectResponse, error) {
	got, err := c.engine.api.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
	if err != nil {
		return container.InspectResponse{}, c.engine.fail(err, "look at container %s", c.Name)
	}
	return got.Container, nil
}

// read keeps what the engine says of a container that runs.
func (c *Container) read(got container.InspectResponse) {
	if got.State != nil {
		c.pid = got.State.Pid
	}
	if h := got.HostConfig; h != nil {
		c.Limit = study.Limit{CPUs: float64(h.NanoCPUs) / 1e9, Memory: study.Size(h.Memory)}
	}
	c.Endpoints = nil
	if got.NetworkSettings == nil {
		return
	}
	for name, n := range got.NetworkSettings.Networks {
		if n == nil {
			continue
		}
		e := Endpoint{Network: name, NetworkID: n.NetworkID, Gateway: n.Gateway, MAC: n.MacAddress.String()}
		for _, a := range []struct {
			addr netip.Addr
			bits int
		}{{n.IPAddress, n.IPPrefixLen}, {n.GlobalIPv6Address, n.GlobalIPv6PrefixLen}} {
			if a.addr.IsValid() {
				e.Addresses = append(e.Addresses, netip.PrefixFrom(a.addr, a.bits))
			}
		}
		if len(e.Addresses) > 0 {
			c.Endpoints = append(c.Endpoints, e)
		}
	}
	slices.SortFunc(c.Endpoints, func(a, b Endpoint) int { return cmp.Compare(a.Network, b.Network) })
}

// State asks the engine how the container is. errors.Is(err, ErrNotFound) says that
// it was removed.
func (c *Container) State(ctx context.Context) (State, error) {
	got, err := c.inspect(ctx)
	if err != nil || got.State == nil {
		return State{}, err
	}
	s := got.State
	return State{Running: s.Running, ExitCode: s.ExitCode, OOM: s.OOMKilled, Error: s.Error, PID: s.Pid}, nil
}
