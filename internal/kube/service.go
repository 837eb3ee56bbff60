package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"tare/internal/kube/api"
	"tare/internal/timelimit"
)

// ServiceSpec describes a service of a run.
type ServiceSpec struct {
	Run, Name, Namespace string
	Selector             map[string]string // of the pods behind it
	Port                 uint16            // of the service and of the pods, over TCP and UDP
	OnNodes              bool              // it also has a port on every node
	Balanced             bool              // it also has an external address, from a load balancer
	Class                string            // of the load balancer; empty for the cluster's default
	Local                bool              // traffic that comes from outside stays on the node at which it arrives
	// HTTP means that its port is for HTTP/1.1 over TCP, with none for UDP and the next one for HTTP/2 in the clear, which
	// leads to the same port of the pods. It has one address family, the cluster's default: controllers send requests to
	// the endpoints of all families in turn.
	HTTP bool
}

// Service is a service of the cluster.
type Service struct {
	ServiceSpec
	Addresses []netip.Addr // its ClusterIPs: one of each address family of the cluster, the default one first
	NodePort  uint16       // of both protocols, 0 if there is none
	cluster   *Cluster
}

// CreateService creates a service. With a pod it waits until that is its only endpoint.
func (c *Cluster) CreateService(ctx context.Context, spec ServiceSpec, behind *Pod) (*Service, error) {
	s := &Service{ServiceSpec: spec, cluster: c}
	m := api.Service{
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Namespace: spec.Namespace, Labels: labels(spec.Run, "service")},
		Spec:       api.ServiceSpec{Selector: spec.Selector, Type: api.ServiceTypeClusterIP, IPFamilyPolicy: ptr(api.IPFamilyPolicyPreferDualStack)},
	}
	switch {
	case spec.OnNodes:
		m.Spec.Type = api.ServiceTypeNodePort
	case spec.Balanced:
		m.Spec.Type = api.ServiceTypeLoadBalancer
		if spec.Class != "" {
			m.Spec.LoadBalancerClass = &spec.Class
		}
	}
	if spec.Local {
		m.Spec.ExternalTrafficPolicy = api.ServiceExternalTrafficLocal
	}
	port := api.ServicePort{Name: "tcp", Protocol: api.ProtocolTCP, Port: int32(spec.Port), TargetPort: intstr.FromInt32(int32(spec.Port))}
	if spec.HTTP {
		port.Name, m.Spec.IPFamilyPolicy = "http", ptr(api.IPFamilyPolicySingleStack)
	}
	m.Spec.Ports = []api.ServicePort{port}
	switch {
	case spec.HTTP:
		port.Name, port.Port, port.AppProtocol = "h2c", port.Port+1, ptr(api.AppProtocolH2C)
		m.Spec.Ports = append(m.Spec.Ports, port)
	case !spec.OnNodes:
		port.Name, port.Protocol = "udp", api.ProtocolUDP
		m.Spec.Ports = append(m.Spec.Ports, port)
	}
	var whole json.RawMessage
	if err := c.post(ctx, in(core, spec.Namespace, "services"), m, &whole); err != nil {
		return nil, c.fail(err, "create service %s in namespace %s", spec.Name, spec.Namespace)
	}
	var made api.Service
	if err := json.Unmarshal(whole, &made); err != nil {
		return nil, c.fail(fmt.Errorf("read the answer of the API server: %w", err), "create service %s in namespace %s", spec.Name, spec.Namespace)
	}
	for _, text := range made.Spec.ClusterIPs {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return s, fmt.Errorf("create service %s: the cluster gave it the address %q", spec.Name, text)
		}
		s.Addresses = append(s.Addresses, addr)
	}
	if spec.OnNodes {
		if err := s.openUDP(ctx, whole, made); err != nil {
			return nil, c.fail(err, "open port %d of service %s for UDP", s.NodePort, spec.Name)
		}
	}
	if behind == nil {
		return s, nil
	}
	return s, s.awaitEndpoint(ctx, behind)
}

// openUDP adds UDP to a service with a port on every node, under one number for both protocols: the one that the cluster
// chose for TCP. whole is the service as the cluster returned it, of which nothing may be lost.
func (s *Service) openUDP(ctx context.Context, whole []byte, made api.Service) error {
	var object map[string]any
	if err := json.Unmarshal(whole, &object); err != nil {
		return err
	}
	specification, _ := object["spec"].(map[string]any)
	ports, _ := specification["ports"].([]any)
	if len(ports) == 0 {
		return errors.New("the cluster returned a service without ports")
	}
	port := made.Spec.Ports[0]
	s.NodePort = uint16(port.NodePort)
	port.Name, port.Protocol = "udp", api.ProtocolUDP
	specification["ports"] = append(ports, port)
	return s.cluster.do(ctx, "PUT", in(core, s.Namespace, "services", s.Name), nil, object, nil)
}

// LeadTo makes the service lead to the pods with other values of its selector's labels, and waits until the given pod is its only endpoint.
func (s *Service) LeadTo(ctx context.Context, selector map[string]string, pod *Pod) error {
	patch := map[string]any{"spec": map[string]any{"selector": selector}}
	if err := s.cluster.do(ctx, "PATCH", in(core, s.Namespace, "services", s.Name), nil, patch, nil); err != nil {
		return s.cluster.fail(err, "lead service %s to pod %s", s.Name, pod.Name)
	}
	return s.awaitEndpoint(ctx, pod)
}

// endpointTimeout bounds how long the cluster may take to find the pod behind a service.
func endpointTimeout() time.Duration { return timelimit.Scaled(20 * time.Second) }

// awaitEndpoint waits until the pod is the only endpoint of the service, in each address family
// that the service has.
func (s *Service) awaitEndpoint(ctx context.Context, pod *Pod) error {
	var want, found []string
	for _, a := range s.Addresses {
		if addr, ok := pod.Address(a.Is6()); ok {
			want = append(want, addr.String())
		}
	}
	slices.Sort(want)
	err := poll(ctx, endpointTimeout(), errTooSlow, func() (bool, error) {
		var err error
		found, err = s.Endpoints(ctx)
		slices.Sort(found)
		return slices.Equal(found, want), err
	})
	if errors.Is(err, errTooSlow) {
		return fmt.Errorf("the endpoints of service %s on cluster %s are %v after %s, and only pod %s %v should be one; look for other pods with its labels", s.Name, s.cluster.Context, found, endpointTimeout(), pod.Name, want)
	}
	return err
}

// Endpoints returns the addresses of the ready endpoints of the service.
func (s *Service) Endpoints(ctx context.Context) ([]string, error) {
	var list api.EndpointSliceList
	err := s.cluster.get(ctx, in(discoveryV, s.Namespace, "endpointslices"), url.Values{"labelSelector": {api.LabelServiceName + "=" + s.Name}}, &list)
	if err != nil {
		return nil, s.cluster.fail(err, "list the endpoints of service %s", s.Name)
	}
	var out []string
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				out = append(out, e.Addresses...)
			}
		}
	}
	return out, nil
}

// Remove removes the service. It is no error if it is already gone.
func (s *Service) Remove(ctx context.Context) error {
	return s.cluster.fail(s.cluster.remove(ctx, in(core, s.Namespace, "services", s.Name)), "remove service %s", s.Name)
}

// atOnce is how many decoys are created at a time.
const atOnce = 16

// CreateDecoys creates a number of services without traffic, each with an endpoint in a range for
// documentation, so that every node has rules for them. Their names begin with name, and their part
// is name.
func (c *Cluster) CreateDecoys(ctx context.Context, run, namespace, name string, count int) error {
	return createAll(count, func(i int) error {
		return c.createDecoy(ctx, run, namespace, name, i+1)
	})
}

// RemoveDecoys removes the services that CreateDecoys created with a name.
func (c *Cluster) RemoveDecoys(ctx context.Context, run, namespace, name string) error {
	selector := LabelRun + "=" + run + "," + LabelPart + "=" + name
	err := errors.Join(c.removeAll(ctx, core, namespace, "services", selector), c.removeAll(ctx, discoveryV, namespace, "endpointslices", selector))
	return c.fail(err, "remove the decoy services %s", name)
}

// createAll calls create with the numbers below count, some at a time. After an error it calls it
// no more: the others would be of the same kind.
func createAll(count int, create func(i int) error) error {
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	places := make(chan struct{}, atOnce)
	for i := 0; i < count && failed.Load() == nil; i++ {
		places <- struct{}{}
		wg.Go(func() {
			if err := create(i); err != nil {
				failed.CompareAndSwap(nil, &err)
			}
			<-places
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// ensure creates an object unless it exists: a mode that is set up again has those of the first time.
func (c *Cluster) ensure(ctx context.Context, at string, object any) error {
	return ignore(c.post(ctx, at, object, nil), isExisting)
}

func (c *Cluster) createDecoy(ctx context.Context, run, namespace, part string, number int) error {
	const discard = 9
	name := fmt.Sprintf("%s-%d", part, number)
	s := api.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels(run, part)},
		Spec:       api.ServiceSpec{Ports: []api.ServicePort{{Name: "discard", Protocol: api.ProtocolTCP, Port: discard, TargetPort: intstr.FromInt32(discard)}}},
	}
	if err := c.ensure(ctx, in(core, namespace, "services"), s); err != nil {
		return c.fail(err, "create decoy service %s", name)
	}
	l := labels(run, part)
	l[api.LabelServiceName] = name
	e := api.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: l},
		AddressType: api.AddressTypeIPv4,
		Endpoints:   []api.Endpoint{{Addresses: []string{"192.0.2.1"}, Conditions: api.EndpointConditions{Ready: ptr(true)}}},
		Ports:       []api.EndpointPort{{Name: ptr("discard"), Protocol: ptr(api.ProtocolTCP), Port: ptr(int32(discard))}},
	}
	return c.fail(c.ensure(ctx, in(discoveryV, namespace, "endpointslices"), e), "create the endpoint of decoy service %s", name)
}
