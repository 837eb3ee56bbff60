package k8s

import (
	"context"
	"slices"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/kube"
	"tare/internal/study"
)

// served is a client, and a server in a pod that events are about.
type served struct {
	client, server *endpoint
	service        *kube.Service // that leads to the server; nil without one
	host           string        // that requests name, for which a controller leads them to the service; empty without one
}

// arrives returns an error unless what the client sends to the service arrives at the server, as soon as it does.
func (a served) arrives(ctx context.Context, at driver.Endpoint) error {
	for i, dial := range at.Dial {
		var err error
		if a.host != "" {
			_, err = agent.CheckForwarded(ctx, a.client.Agent, a.server.Agent, a.host, at.Listen[i], dial, driver.EventTimeout())
		} else {
			_, err = agent.CheckReachability(ctx, a.client.Agent, a.server.Agent, "tcp", at.Listen[i], dial, driver.EventTimeout())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// events are those of the path.
func (p *path) events() (out []driver.Event) {
	if len(p.served) > 0 {
		out = append(out, p.policyAdded(p.served[0].client, p.served[0].server))
	}
	if len(p.served) > 1 && p.served[0].service != nil {
		out = append(out, p.endpointReplaced(p.served[0], p.served[1]))
	}
	return out
}

// endpointReplaced leads the service of the first pair to the pod of the second one: nodes and controllers follow in their own time.
// The run ends the first server as soon as the cluster counts the second one as the only endpoint, as a pod ends in a rolling update
// that does not wait.
func (p *path) endpointReplaced(first, second served) driver.Event {
	counter := func(a served) string { return pathspec.CounterName(a.server.At, "service", "endpoints") }
	lead := func(ctx context.Context, to served) error {
		return first.service.LeadTo(ctx, p.pods.pairLabel(to.server.Name), to.server.pod)
	}
	return driver.Event{
		Name: study.EndpointReplaced, Title: "the service leads to another pod, and the server in the one before ends",
		State: func(ctx context.Context) (driver.Counters, error) {
			at, err := first.service.Endpoints(ctx)
			out := driver.Counters{}
			for _, a := range []served{first, second} {
				out[counter(a)] = 0
				for _, six := range []bool{false, true} {
					if own, ok := a.server.pod.Address(six); ok && slices.Contains(at, own.String()) {
						out[counter(a)]++
					}
				}
			}
			return out, err
		},
		Do: func(ctx context.Context) (func(context.Context) error, error) {
			undo := func(ctx context.Context) error {
				if err := lead(ctx, first); err != nil {
					return err
				}
				return first.arrives(ctx, p.Pairs()[0].Server)
			}
			return undo, lead(ctx, second)
		},
		Happened: driver.Replaced(counter(first), counter(second)),
	}
}
