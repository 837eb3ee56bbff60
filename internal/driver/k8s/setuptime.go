package k8s

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/kube"
	"tare/internal/timelimit"
)

// answering is the measured set-up of a server: its pod's first process answers a request, while the client sends one each millisecond
// to the service in front.
type answering struct {
	clock   *driver.SetupClock
	address string // at which the pod answers
	token   string
}

// begin is called when the pod of a specification is about to be created.
func (a *answering) begin(spec *kube.PodSpec) {
	if a != nil {
		spec.Answer, spec.Token = a.address, a.token
		a.clock.SandboxBegins(driver.RoleServer)
	}
}

// exists is called when the cluster says that the pod runs.
func (a *answering) exists() {
	if a != nil {
		a.clock.SandboxExists(driver.RoleServer)
	}
}

// answerTimeout bounds how long a service may take until it leads to a pod that is being created.
func answerTimeout() time.Duration { return timelimit.Scaled(time.Minute) }

// whileMade lets a client try to reach an address while create makes the server's pod, which answers at the port on all addresses of its
// network, and tells the clock when it did.
func (p *path) whileMade(ctx context.Context, client *endpoint, at netip.Addr, token string, create func(*answering) error) error {
	if p.cluster.Injects() {
		return &driver.Unsupported{Mode: p.Mode, Reason: "its set-up would have the time in which the program is copied into the pod; leave out --inject, and load the image of tare"}
	}
	clock := p.order.Clock
	all := netip.IPv4Unspecified()
	if clock.IPv6 {
		all = netip.IPv6Unspecified()
	}
	type found struct {
		agent.Sought
		err error
	}
	sought := make(chan found, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		s, err := agent.Seek(ctx, client.Agent, netip.AddrPortFrom(at, pathspec.FirstPort), token, answerTimeout())
		sought <- found{s, err}
	}()
	if err := create(&answering{clock: clock, address: netip.AddrPortFrom(all, pathspec.FirstPort).String(), token: token}); err != nil {
		return err
	}
	s := <-sought
	if s.err != nil {
		return fmt.Errorf("reach %s from %s while it is set up: %w", at, client.At, s.err)
	}
	clock.Answered(driver.Answer{First: s.First, Connected: s.Connected, FirstByte: s.FirstByte, Whole: s.Whole, Attempts: s.Attempts})
	return nil
}

// measured returns the address of the family whose set-up is measured.
func (p *path) measured(of []netip.Addr) (netip.Addr, error) {
	i := slices.IndexFunc(of, func(a netip.Addr) bool { return a.Is6() == p.order.Clock.IPv6 })
	if i < 0 {
		return netip.Addr{}, fmt.Errorf("the server is reached at %v, and none is of the family that is measured", of)
	}
	return of[i], nil
}

// timedService sets up the server behind a service, which is there before the pod, as it is when a pod is replaced.
func (p *path) timedService(ctx context.Context) (client, server *endpoint, s *kube.Service, err error) {
	clients, err := p.pods.start(ctx, 1, wanted{host: p.a, client: true})
	if err != nil {
		return nil, nil, nil, err
	}
	name := endpointName(false, 1)
	pod := p.pods.podName(p.b, name)
	if s, err = p.pods.createService(ctx, pod, name, nil, kube.ServiceSpec{}); err != nil {
		return nil, nil, nil, err
	}
	at, err := p.measured(s.Addresses)
	if err != nil {
		return nil, nil, nil, err
	}
	err = p.whileMade(ctx, clients[0], at, pod, func(a *answering) error {
		servers, err := p.pods.start(ctx, 1, wanted{host: p.b, answer: a})
		server = servers[0]
		return err
	})
	return clients[0], server, s, err
}

// timedNode sets up a pod on the host network of the server's node, reaches it, and removes it again: the endpoints of the mode are
// processes of a pod that all modes of the run share.
func (p *path) timedNode(ctx context.Context, client *endpoint, addresses []netip.Addr) error {
	at, err := p.measured(addresses)
	if err != nil {
		return err
	}
	run := p.session.Run
	spec := kube.PodSpec{Run: run, Part: "server", Name: p.pods.podName(p.b, "start"), Namespace: p.driver.nodeNamespace(run), Node: p.driver.nodeOf(p.b).Name, HostNetwork: true}
	return p.whileMade(ctx, client, at, spec.Name, func(a *answering) error {
		a.begin(&spec)
		pod, err := p.cluster.Run(ctx, spec)
		if err != nil {
			return err
		}
		a.exists()
		p.pods.started = append(p.pods.started, pod)
		return nil
	})
}
