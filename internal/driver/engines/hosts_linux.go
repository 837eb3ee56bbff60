package engines

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"tare/internal/agent/transport"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/study"
)

// hosts is the lab of a path with the engines on it.
type hosts struct {
	lab    *lab.Lab
	config private.Config // of Docker Engines
	a, b   *side
	inner  *side          // the network namespace of a rootless engine; nil without one
	spaces []*linuxnet.NS // opened for reading, in addition to those of containers
}

// side is a host of the lab with its engine.
type side struct {
	namespace
	host   *lab.Host
	engine *private.Engine     // nil if the mode needs none
	bridge string              // the default bridge of its engine
	podman *private.PodmanInfo // of a Podman, nil for a Docker Engine
}

// namespace is a network namespace on the path: a host's, or one that an engine has created there.
type namespace struct {
	pathspec.Place
	ns *linuxnet.NS
}

func namespaceOf(at, host string, ns *linuxnet.NS) namespace {
	return namespace{pathspec.Place{At: at, Host: host, Stack: pathspec.NamespaceStack{NS: ns}}, ns}
}

func hostOf(h *lab.Host) *side {
	return &side{namespace: namespaceOf(h.Name, h.Name, h.NS), host: h, bridge: docker0}
}

// device returns the step for one of its devices.
func (n namespace) device(name string) pathspec.Step {
	return pathspec.DeviceStep(n.Place, pathspec.Device{Name: name})
}

// end returns the endpoint of a host process.
func (s *side) end() pathspec.Endpoint {
	return pathspec.Endpoint{Place: s.Place, Launcher: transport.Local{Start: s.ns.Start}}
}

// address returns the host's underlay address: IPv4 only, like the default bridge.
func (s *side) address() []netip.Addr { return s.host.Addr[:1] }

// who returns what the engine of a host is called in messages.
func (s *side) who() string {
	if s.podman != nil {
		return "Podman"
	}
	return "the engine"
}

// processes returns those of its engine's processes that are what is looked for.
func (s *side) processes(is func(pid int) bool) ([]int, error) {
	all, err := linuxnet.Descendants(s.engine.Root())
	return slices.DeleteFunc(all, func(pid int) bool { return !is(pid) }), err
}

// listener returns which of some processes listens on a port of the host, 0 if none does, and all that do.
func (s *side) listener(port uint16, among []int) (pid int, all []int, err error) {
	all, err = s.ns.Sockets().Listeners(port)
	if i := slices.IndexFunc(all, func(pid int) bool { return slices.Contains(among, pid) }); i >= 0 {
		pid = all[i]
	}
	return pid, all, err
}

// sides returns the hosts that have an engine.
func (h *hosts) sides() (with []*side) {
	for _, s := range []*side{h.a, h.b} {
		if s.engine != nil {
			with = append(with, s)
		}
	}
	return with
}

// on returns some hosts of the lab.
func (h *hosts) on(need hostSet) (on []*side) {
	if need.a {
		on = append(on, h.a)
	}
	if need.b {
		on = append(on, h.b)
	}
	return on
}

// bridgeSubnet returns the subnet of a host's default bridge.
func (h *hosts) bridgeSubnet(s *side) netip.Prefix {
	net := lab.NetB
	if s == h.a {
		net = lab.NetA
	}
	return h.lab.Addresses(net, 0)[0].Masked()
}

// forward makes the hosts of engines with the nftables backend routers: these require that, where
// others do it themselves.
func (h *hosts) forward(need hostSet) error {
	if h.config.Firewall != study.FirewallNftables {
		return nil
	}
	var errs []error
	for _, s := range h.on(need) {
		errs = append(errs, h.lab.EnableForwarding(s.ns))
	}
	return errors.Join(errs...)
}

// defaultRoutes gives the hosts of rootless engines a default route over the underlay, by which pasta
// chooses the device that it works on.
func (h *hosts) defaultRoutes(need hostSet) error {
	switch {
	case h.config.Rootless == nil:
		return nil
	case need.a:
		return h.a.ns.Routes().DefaultRoute(h.b.host.Addr[0])
	default:
		return h.b.ns.Routes().DefaultRoute(h.a.host.Addr[0])
	}
}

// startDocker starts Docker Engines.
func (h *hosts) startDocker(ctx context.Context, need hostSet) error {
	return h.start(ctx, need, func(ctx context.Context, s *side) (err error) {
		s.engine, err = h.config.Start(ctx, h.lab, s.host)
		return err
	})
}

// startPodmans starts Podmans.
func (h *hosts) startPodmans(ctx context.Context, need hostSet, c private.Podman) error {
	return h.start(ctx, need, func(ctx context.Context, s *side) error {
		engine, info, err := c.Start(ctx, h.lab, s.host)
		s.engine, s.podman, s.bridge = engine, &info, info.BridgeName()
		return err
	})
}

// start starts the required engines in parallel, each with one, and loads the containers' image into
// them, so that no container waits for it.
func (h *hosts) start(ctx context.Context, need hostSet, one func(context.Context, *side) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var errs [2]error
	var wg sync.WaitGroup
	for i, s := range h.on(need) {
		wg.Go(func() {
			if errs[i] = one(ctx, s); errs[i] == nil {
				_, errs[i] = s.engine.Image(ctx, h.lab.Spec.Claim.ID)
			}
			if errs[i] != nil {
				cancel() // the other is of no use alone
			}
		})
	}
	wg.Wait()
	if errs[1] != nil && errors.Is(errs[0], context.Canceled) {
		return errs[1] // one was cancelled because the other failed
	}
	return cmp.Or(errs[0], errs[1])
}

// open opens a namespace that an engine has created on a host, for as long as the path exists.
func (h *hosts) open(s *side, name, file string) (*namespace, error) {
	at := s.At + "/" + name
	ns, err := linuxnet.OpenNS(at, file)
	if err != nil {
		return nil, err
	}
	h.spaces = append(h.spaces, ns)
	n := namespaceOf(at, s.Host, ns)
	return &n, nil
}

// facts returns the versions of the engines, and which runtime their containers have.
func (h *hosts) facts(ctx context.Context) (versions, runtimes []result.Fact) {
	for _, s := range h.sides() {
		versions = append(versions, containers.VersionFacts(s.At, s.engine.Engine)...)
		if s.podman != nil {
			for _, f := range s.podman.Facts() {
				f.Name = s.At + " " + f.Name
				versions = append(versions, f)
			}
		}
		versions = append(versions, result.Deciding(s.At+" engine program", s.engine.Program))
		if h.config.LiveRestore {
			versions = append(versions, result.Fact{Name: s.At + " live-restore", Value: study.On})
		} else if h.config.Restarts {
			versions = append(versions, result.Fact{Name: s.At + " live-restore", Value: study.Off})
		}
		if h.config.Sandboxed() {
			runtimes = append(runtimes, result.Deciding(s.At+" runtime", h.config.RuntimeVersion(ctx)))
		}
	}
	return versions, runtimes
}

// processes returns the init processes of the engines.
func (h *hosts) processes() []int {
	var roots []int
	for _, s := range h.sides() {
		roots = append(roots, s.engine.Root())
	}
	return roots
}

// flushConnections flushes the connection tracking of the hosts with an engine.
func (h *hosts) flushConnections() error {
	all := h.sides()
	if h.inner != nil {
		all = append(all, h.inner)
	}
	for _, s := range all {
		if err := s.ns.Rules().FlushConntrack(); err != nil {
			return err
		}
	}
	return nil
}

// exitReason returns how an engine has exited, "" if all run.
func (h *hosts) exitReason() string {
	for _, s := range h.sides() {
		if reason := s.engine.ExitReason(); reason != "" {
			return reason
		}
	}
	return ""
}

// closeSpaces closes the namespaces that were opened for reading.
func (h *hosts) closeSpaces() error {
	var errs []error
	for _, ns := range h.spaces {
		errs = append(errs, ns.Close())
	}
	return errors.Join(errs...)
}
