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
	"tare/internal/study/quantity"
)

// HostNetwork as a container's network is the engine's own network, without a namespace.
const HostNetwork = "host"

// ContainerSpec describes a container to create. Its image contains this program.
type ContainerSpec struct {
	Run     string // the run's id, by which tare gc finds it
	Part    string // its role in the run, such as client
	Name    string // see Name
	Network string // name or id, HostNetwork, or empty for the engine's default bridge
	// Addresses are fixed, at most one of each family. They need a network with a user-defined
	// subnet. The engine assigns the rest.
	Addresses []netip.Addr
	Publish   []Publish
	Limit     study.Limit
	Sysctls   map[string]string // of the container's network namespace, with dots; empty on HostNetwork
	// Unfiltered leaves out the engine's seccomp profile.
	Unfiltered bool
	// CgroupParent is the control group below which the container's are created; empty for that of
	// the engine.
	CgroupParent string
	// Standby is a directory of the engine's machine, which must exist, in which agents are ordered (agent.Ordered): the first process starts
	// the one that was ordered when the container starts. Empty for none.
	Standby string
	// Restart makes the engine start the container again whenever it has ended, also after the engine's own restart.
	Restart bool
}

// standbyAt is where a container has the directory ContainerSpec.Standby.
const standbyAt = "/standby"

// Publish makes a container's port reachable at an address of its host, for both TCP and UDP.
type Publish struct {
	Host netip.AddrPort // an unspecified address is all of the host's; the port must not be 0
	Port uint16         // in the container
}

// Container is a started container. Each agent that it launches is a separate process in it, so an
// agent can be restarted without a change to the container's devices and addresses.
type Container struct {
	ID, Name  string
	Limit     study.Limit // as the engine reports it
	Endpoints []Endpoint  // by network name; empty on HostNetwork
	engine    *Engine
	service   *service // of which it is the only task; nil if it belongs to none
	pid       int
}

// Endpoint is a container's attachment to a network.
type Endpoint struct {
	Network, NetworkID string
	Addresses          []netip.Prefix // IPv4 first
	Gateway            netip.Addr     // of IPv4; may be invalid
	MAC                string
}

// State is the state of a container.
type State struct {
	Running  bool
	ExitCode int  // of a container that has exited
	OOM      bool // it ran out of memory
	Error    string
	PID      int       // in the engine's /proc, 0 unless running
	Started  time.Time // when it was last started; zero if the engine does not tell
}

// Name returns a name for an object of a run from its parts, with only characters that every engine
// allows.
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

// Run creates and starts a container. On error it removes the container. A limit that the engine
// does not apply is an error.
func (e *Engine) Run(ctx context.Context, spec ContainerSpec) (*Container, error) {
	for _, p := range spec.Publish {
		if p.Port == 0 || p.Host.Port() == 0 {
			return nil, fmt.Errorf("engine %s: create container %s: publish port %d at %s: both ports must be set", e.Name, spec.Name, p.Port, p.Host)
		}
	}
	for asked := 1; ; asked++ {
		made, err := e.create(ctx, spec)
		if err != nil {
			return nil, err
		}
		c := &Container{ID: made.ID, Name: spec.Name, engine: e}
		if err = c.start(ctx, spec, made.Warnings); err == nil {
			return c, nil
		}
		again := asked < asksOfSwarm && ctx.Err() == nil && isLateSwarm(err)
		if left := c.Remove(context.WithoutCancel(ctx)); left != nil || !again {
			return nil, errors.Join(err, left)
		}
	}
}

// asksOfSwarm is how often an engine is asked in all to attach a container to the network of a Swarm. It waits 20 s for the
// manager, which no setting changes and which an emulated or busy CPU may exceed. Each time is with another container: an engine
// keeps an attachment that came too late for that container and takes it for attached.
const asksOfSwarm = 3

// isLateSwarm reports whether the manager of a Swarm was too late for an engine that asked it to attach a container: before it
// took the request, or before it had attached the container.
func isLateSwarm(err error) bool {
	said := err.Error()
	return strings.Contains(said, "deadline exceeded") &&
		(strings.Contains(said, "attaching to network failed") || strings.Contains(said, "Could not attach to network"))
}

// toEnd sends a request that creates something, and waits for the answer even if ctx is done meanwhile: an engine goes on with such a
// request, and what it made could not be removed without the id in its answer. The limit of answers bounds it (see boundedConn). The
// caller removes what was made when its next request with ctx fails. With a ctx that is done, toEnd sends nothing.
func toEnd[T any](ctx context.Context, send func(context.Context) (T, error)) (made T, err error) {
	if err := ctx.Err(); err != nil {
		return made, err
	}
	return send(context.WithoutCancel(ctx))
}

// Create creates a container that Start starts.
func (e *Engine) Create(ctx context.Context, spec ContainerSpec) (*Container, error) {
	made, err := e.create(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &Container{ID: made.ID, Name: spec.Name, engine: e}, nil
}

// Start starts a container of Create with the same spec. It is an error if it does not run with the limits of spec.
func (c *Container) Start(ctx context.Context, spec ContainerSpec) error {
	return c.start(ctx, spec, nil)
}

// Renew returns what the engine reports of a container of spec that it has restarted. Who still uses c sees no change of it.
func (c *Container) Renew(ctx context.Context, spec ContainerSpec) (*Container, error) {
	again := &Container{ID: c.ID, Name: c.Name, engine: c.engine}
	return again, again.started(ctx, spec, time.Now(), nil)
}

// Publishes returns at how many addresses and protocols of its host a port of the container is published: 0 if it does not run, or was
// removed.
func (c *Container) Publishes(ctx context.Context, port uint16) (n int, err error) {
	got, err := c.inspect(ctx)
	if errors.Is(err, ErrNotFound) || err == nil && (got.State == nil || !got.State.Running || got.NetworkSettings == nil) {
		return 0, nil
	}
	for at, bound := range got.NetworkSettings.Ports {
		if at.Num() == port {
			n += len(bound)
		}
	}
	return n, err
}

func (e *Engine) create(ctx context.Context, spec ContainerSpec) (made client.ContainerCreateResult, err error) {
	// The image may have been removed meanwhile, for example by docker image prune.
	for range 2 {
		var image string
		if image, err = e.Image(ctx, spec.Run); err != nil {
			return made, err
		}
		made, err = toEnd(ctx, func(ctx context.Context) (client.ContainerCreateResult, error) {
			return e.api.ContainerCreate(ctx, order(spec, image))
		})
		if err == nil {
			return made, nil
		}
		if !isNotFound(err) {
			break
		}
		e.images.forget(spec.Run)
	}
	return made, e.fail(err, "create container %s", spec.Name)
}

// order returns the request to the API.
func order(spec ContainerSpec, image string) client.ContainerCreateOptions {
	on := spec.Network
	if on == "" {
		on = network.NetworkBridge
	}
	exposed, bound := ports(spec.Publish)
	var security []string
	if spec.Unfiltered {
		security = []string{"seccomp=unconfined"}
	}
	o := client.ContainerCreateOptions{
		Name: spec.Name,
		Config: &container.Config{
			Image: image, Entrypoint: []string{Program}, Cmd: agent.PauseArguments(spec.Run, spec.Name),
			Labels:       labels(spec.Run, spec.Part),
			ExposedPorts: exposed,
		},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode(on), PortBindings: bound, Sysctls: spec.Sysctls,
			LogConfig:   container.LogConfig{Type: noLog},
			CapAdd:      capabilities(),
			SecurityOpt: security,
			Resources: container.Resources{
				CgroupParent: spec.CgroupParent,
				NanoCPUs:     nanoCPUs(spec.Limit), Memory: int64(spec.Limit.Memory),
				// The same limit with and without swap makes it a hard limit.
				MemorySwap: int64(spec.Limit.Memory),
			},
		},
	}
	if spec.Standby != "" {
		o.Config.Cmd = agent.StandbyArguments(spec.Run, spec.Name, standbyAt)
		o.HostConfig.Binds = []string{spec.Standby + ":" + standbyAt}
	}
	if spec.Restart {
		o.HostConfig.RestartPolicy.Name = container.RestartPolicyAlways
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

// noLog is the log driver that keeps nothing.
const noLog = "none"

// capabilities returns what containers may do beside an engine's default: agents set the congestion
// control and force buffer sizes, as they can in a namespace of the netns driver.
func capabilities() []string { return []string{"NET_ADMIN"} }

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
	e := c.engine
	began := time.Now()
	if _, err := e.api.ContainerStart(ctx, c.ID, client.ContainerStartOptions{}); err != nil {
		return e.fail(err, "start container %s on network %s", c.Name, cmp.Or(spec.Network, network.NetworkBridge))
	}
	return c.started(ctx, spec, began, warnings)
}

// started reads what the engine reports of a container that it began to start at a time, and checks
// that it runs with the limits of spec.
func (c *Container) started(ctx context.Context, spec ContainerSpec, began time.Time, warnings []string) error {
	e := c.engine
	got, err := c.inspect(ctx)
	if err != nil {
		return err
	}
	c.read(got)
	if got.State != nil && !got.State.Running {
		return fmt.Errorf("engine %s: start container %s: it exited at once: %s", e.Name, c.Name, c.death(ctx, time.Since(began)))
	}
	if nanoCPUs(c.Limit) != nanoCPUs(spec.Limit) || c.Limit.Memory != spec.Limit.Memory {
		return fmt.Errorf("engine %s: limit container %s to %s: the engine applies %s%s; use limits that it supports",
			e.Name, c.Name, limits(spec.Limit), limits(c.Limit), withWarnings(warnings))
	}
	return nil
}

// nanoCPUs returns a limit's CPUs in the API's unit.
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

// withWarnings formats the engine's warnings to append to an error.
func withWarnings(warnings []string) string {
	if len(warnings) == 0 {
		return ""
	}
	return " (" + strings.Join(warnings, " ") + ")"
}

// Addresses returns the addresses on the container's networks, IPv4 first on each.
func (c *Container) Addresses() []netip.Addr {
	var out []netip.Addr
	for _, e := range c.Endpoints {
		for _, p := range e.Addresses {
			out = append(out, p.Addr())
		}
	}
	return out
}

// PID returns the process id of the container's first process in the engine's namespace.
func (c *Container) PID() int { return c.pid }

// Remove kills and removes the container, and the service that it belongs to. A missing container is
// not an error.
func (c *Container) Remove(ctx context.Context) error {
	if c.service != nil {
		return c.service.remove(ctx, c)
	}
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
		return container.InspectResponse{}, c.engine.fail(err, "inspect container %s", c.Name)
	}
	return got.Container, nil
}

// read stores what the engine reports about a running container.
func (c *Container) read(got container.InspectResponse) {
	if got.State != nil {
		c.pid = got.State.Pid
	}
	if h := got.HostConfig; h != nil {
		c.Limit = study.Limit{CPUs: float64(h.NanoCPUs) / 1e9, Memory: quantity.Size(h.Memory)}
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

// State returns the container's state. The error is ErrNotFound if the container was removed.
func (c *Container) State(ctx context.Context) (State, error) {
	got, err := c.inspect(ctx)
	if err != nil || got.State == nil {
		return State{}, err
	}
	s := got.State
	started, _ := time.Parse(time.RFC3339Nano, s.StartedAt) // zero where it is none
	return State{Running: s.Running, ExitCode: s.ExitCode, OOM: s.OOMKilled, Error: s.Error, PID: s.Pid, Started: started}, nil
}
