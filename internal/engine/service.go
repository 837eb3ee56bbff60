package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"tare/internal/agent"
	"tare/internal/timelimit"
)

// ServiceSpec describes a service of a Swarm with one task, which has a container.
type ServiceSpec struct {
	// ContainerSpec describes the container. Its Network, Addresses and CgroupParent must be empty:
	// the Swarm chooses them. Ports are published at all addresses of a host.
	ContainerSpec
	Node *Engine // of the Swarm, on which the task runs
	// Ingress publishes the ports at every node of the Swarm, through its routing mesh; else at the
	// task's node only.
	Ingress bool
}

// serviceTimeout bounds how long a Swarm may take until a task runs, and until its container is gone
// after the service was removed, on a real CPU. Both usually take less than a second.
const serviceTimeout = time.Minute

// seccompAPI is the first version of the API by which a service can do without the engine's seccomp
// profile. Older engines ignore the field.
const seccompAPI = "1.44"

// CheckUnfilteredService returns an error if the engine cannot create services without its seccomp
// profile.
func (e *Engine) CheckUnfilteredService() error {
	if versions.LessThan(e.Versions.API, seccompAPI) {
		return fmt.Errorf("engine %s: create a service without the seccomp profile: Docker Engine %s cannot (API %s; %s is required); name a newer one", e.Name, e.Versions.Engine, e.Versions.API, seccompAPI)
	}
	return nil
}

// RunService creates a service on this engine, which must be a manager of a Swarm, and waits until its
// task runs, for at most a minute. The container is one of the engine of the task's node, and its Remove
// removes the service. On error RunService removes the service. It fails if the task fails or is
// rejected, with the Swarm's reason.
func (e *Engine) RunService(ctx context.Context, spec ServiceSpec) (*Container, error) {
	if err := e.CheckUnfilteredService(); spec.Unfiltered && err != nil {
		return nil, err
	}
	node, err := spec.Node.Swarm(ctx)
	if err != nil {
		return nil, err
	}
	// The node has the image: a task with the id of an image pulls nothing.
	image, err := spec.Node.Image(ctx, spec.Run)
	if err != nil {
		return nil, err
	}
	made, err := toEnd(ctx, func(ctx context.Context) (client.ServiceCreateResult, error) {
		return e.api.ServiceCreate(ctx, serviceOrder(spec, node.Node, image))
	})
	if err != nil {
		return nil, e.fail(err, "create service %s", spec.Name)
	}
	c := &Container{Name: spec.Name, engine: spec.Node, service: &service{id: made.ID, name: spec.Name, manager: e}}
	began := time.Now()
	if c.ID, err = c.service.waitRunning(ctx); err == nil {
		err = c.started(ctx, spec.ContainerSpec, began, made.Warnings)
	}
	if err != nil {
		return nil, errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// serviceOrder returns the request to the API.
func serviceOrder(spec ServiceSpec, node, image string) client.ServiceCreateOptions {
	mode := swarm.PortConfigPublishModeHost
	if spec.Ingress {
		mode = swarm.PortConfigPublishModeIngress
	}
	var published []swarm.PortConfig
	for _, p := range spec.Publish {
		for _, proto := range []network.IPProtocol{network.TCP, network.UDP} {
			published = append(published, swarm.PortConfig{Protocol: proto, TargetPort: uint32(p.Port), PublishedPort: uint32(p.Host.Port()), PublishMode: mode})
		}
	}
	var privileges *swarm.Privileges
	if spec.Unfiltered {
		privileges = &swarm.Privileges{Seccomp: &swarm.SeccompOpts{Mode: swarm.SeccompModeUnconfined}}
	}
	var one uint64 = 1
	var atOnce time.Duration
	return client.ServiceCreateOptions{Spec: swarm.ServiceSpec{
		Annotations: swarm.Annotations{Name: serviceName(spec.Name), Labels: labels(spec.Run, spec.Part)},
		Mode:        swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: &one}},
		TaskTemplate: swarm.TaskSpec{
			ContainerSpec: &swarm.ContainerSpec{
				Image: image, Command: []string{Program}, Args: agent.PauseArguments(spec.Run, spec.Name),
				Labels:  labels(spec.Run, spec.Part),
				Sysctls: spec.Sysctls, CapabilityAdd: capabilities(), Privileges: privileges,
				StopGracePeriod: &atOnce,
			},
			Resources: &swarm.ResourceRequirements{Limits: &swarm.Limit{NanoCPUs: nanoCPUs(spec.Limit), MemoryBytes: int64(spec.Limit.Memory)}},
			// A container that ended during a trial must not be replaced by another one.
			RestartPolicy: &swarm.RestartPolicy{Condition: swarm.RestartPolicyConditionNone},
			Placement:     &swarm.Placement{Constraints: []string{"node.id==" + node}},
			LogDriver:     &swarm.Driver{Name: noLog},
		},
		EndpointSpec: &swarm.EndpointSpec{Mode: swarm.ResolutionModeVIP, Ports: published},
	}}
}

// longestService is the number of characters that a Swarm allows in the name of a service, which must
// be that of a DNS label.
const longestService = 63

// serviceName returns the name of a service for a name that Name has made. Of one that is too long it
// keeps the run at its begin and the part at its end.
func serviceName(name string) string {
	name = strings.ReplaceAll(name, ".", "-")
	if len(name) > longestService {
		const begin = longestService / 2
		name = name[:begin] + name[len(name)-(longestService-begin):]
	}
	return name
}

// service is the service of a container.
type service struct {
	id, name string
	manager  *Engine
}

// waitRunning waits until the service's task runs, and returns the id of its container, also of a task
// that has failed.
func (s *service) waitRunning(ctx context.Context) (container string, err error) {
	e, state, within := s.manager, "no task", timelimit.Scaled(serviceTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not done within %v", within))
	defer cancel()
	fail := func(why error) (string, error) {
		return container, fmt.Errorf("engine %s: start service %s: %w (%s)", e.Name, s.name, why, state)
	}
	for {
		got, err := e.api.TaskList(ctx, client.TaskListOptions{Filters: client.Filters{}.Add("service", s.id)})
		switch {
		case err != nil && ctx.Err() != nil:
			return fail(context.Cause(ctx))
		case err != nil:
			return container, e.fail(err, "list the tasks of service %s", s.name)
		}
		if len(got.Items) > 0 {
			t := got.Items[0].Status
			state = taskState(t)
			if t.ContainerStatus != nil {
				container = t.ContainerStatus.ContainerID
			}
			switch t.State {
			case swarm.TaskStateRunning:
				if container != "" {
					return container, nil
				}
			case swarm.TaskStateComplete, swarm.TaskStateShutdown, swarm.TaskStateFailed, swarm.TaskStateRejected, swarm.TaskStateRemove, swarm.TaskStateOrphaned:
				return fail(errors.New("its task has ended"))
			}
		}
		select {
		case <-ctx.Done():
			return fail(context.Cause(ctx))
		case <-time.After(swarmInterval):
		}
	}
}

// taskState describes the state of a task with the Swarm's reason.
func taskState(t swarm.TaskStatus) string {
	why := t.Err
	if why == "" {
		why = t.Message
	}
	return strings.TrimSuffix("its task is "+string(t.State)+": "+strings.Join(strings.Fields(why), " "), ": ")
}

// removeService removes a service. A missing one is not an error.
func (e *Engine) removeService(ctx context.Context, id, name string) error {
	_, err := e.api.ServiceRemove(ctx, id, client.ServiceRemoveOptions{})
	if err == nil || isNotFound(err) || e.ended(err) {
		return nil
	}
	return e.fail(err, "remove service %s", name)
}

// remove removes the service, and waits until a container of it is gone. The Swarm removes the container
// as well, and the engine may be busy with that.
func (s *service) remove(ctx context.Context, c *Container) error {
	if err := s.manager.removeService(ctx, s.id, s.name); err != nil || c.ID == "" {
		return err
	}
	within := timelimit.Scaled(serviceTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("remove service %s: its container is still there after %v", s.name, within))
	defer cancel()
	for {
		if err := c.engine.removeContainer(ctx, c.ID, c.Name); err != nil {
			return err
		}
		_, err := c.inspect(ctx)
		if errors.Is(err, ErrNotFound) || c.engine.ended(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(swarmInterval):
		}
	}
}

// services lists the services of runs, which only the managers of a Swarm know.
func (e *Engine) services(ctx context.Context, state SwarmState) ([]swarm.Service, error) {
	if !state.Manager || !state.Active() {
		return nil, nil
	}
	got, err := e.api.ServiceList(ctx, client.ServiceListOptions{Filters: client.Filters{}.Add("label", LabelRun)})
	if err != nil {
		return nil, e.fail(err, "list its services")
	}
	return got.Items, nil
}
