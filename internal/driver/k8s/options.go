package k8s

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/kube"
)

// The options of modes. OptionPolicy and OptionClass are those of modes with a service that is
// reached from outside, the others of all modes with pods.
const (
	OptionPolicy       = "policy"       // external traffic policy: Cluster or Local
	OptionEndpoint     = "endpoint"     // of k8s/nodeport: EndpointOther
	OptionClass        = "class"        // of the load balancer
	OptionPolicies     = "policies"     // number of network policies that select the pods
	OptionServices     = "services"     // number of services without traffic that exist beside the mode
	OptionRuntimeClass = "runtimeClass" // of the pods
)

// EndpointOther is the value of OptionEndpoint for a pod on another node than the one that is asked.
const EndpointOther = "other"

// mostObjects bounds the options that are numbers: far more than a cluster of any size has.
const mostObjects = 100_000

// checkOptions returns an error for an option that the mode does not have, or with a value that it
// cannot have.
func checkOptions(o driver.Order) error {
	for name, value := range o.Options {
		switch {
		case name == OptionPolicies, name == OptionServices:
			if _, err := count(o, name); err != nil {
				return err
			}
		case name == OptionRuntimeClass && value != "":
		case name == OptionClass && o.Mode == loadBalancer && value != "":
		case name == OptionPolicy && (o.Mode == "k8s/nodeport" || o.Mode == loadBalancer):
			if value != "Cluster" && value != "Local" {
				return fmt.Errorf("option %s is %q; it must be Cluster or Local", name, value)
			}
		case name == OptionEndpoint && o.Mode == "k8s/nodeport":
			if value != EndpointOther {
				return fmt.Errorf("option %s is %q; it must be %s, or left out for a pod on the node that is asked", name, value, EndpointOther)
			}
			if o.Options[OptionPolicy] == "Local" {
				return fmt.Errorf("with the option %s: Local a node does not forward to a pod on another node; leave out %s: %s, or set %s: Cluster", OptionPolicy, OptionEndpoint, EndpointOther, OptionPolicy)
			}
		case name == OptionRuntimeClass, name == OptionClass && o.Mode == loadBalancer:
			return fmt.Errorf("option %s is empty; it must be a name", name)
		default:
			return fmt.Errorf("mode %s has no option %s", o.Mode, name)
		}
	}
	return nil
}

// count returns the value of an option that is a number, 0 if it is not set.
func count(o driver.Order, name string) (int, error) {
	value, ok := o.Options[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > mostObjects {
		return 0, fmt.Errorf("option %s is %q; it must be a number from 0 to %d", name, value, mostObjects)
	}
	return n, nil
}

// decoys returns the name of the mode's own services without traffic.
func (p *path) decoys() string { return kube.Name(p.session.Run, p.order.Label, "decoy") }

// prepareOptions creates what the options of a mode require before its pods.
func (p *path) prepareOptions(ctx context.Context) error {
	run := p.session.Run
	if class := p.order.Options[OptionRuntimeClass]; class != "" {
		if err := p.checkRuntimeClass(ctx, class); err != nil {
			return err
		}
	}
	policies, err := count(p.order, OptionPolicies)
	if err != nil {
		return err
	}
	if err := p.cluster.CreatePolicies(ctx, run, p.driver.podNamespace(run), kube.Name(run, "policy", p.order.Label), policies, p.ownLabel()); err != nil {
		return err
	}
	services, err := count(p.order, OptionServices)
	if err != nil {
		return err
	}
	return p.cluster.CreateDecoys(ctx, run, p.driver.podNamespace(run), p.decoys(), services)
}

// checkRuntimeClass returns an *Unsupported if the cluster has no such runtime class. A user who
// may not list them learns it from the refusal of the pod.
func (p *path) checkRuntimeClass(ctx context.Context, class string) error {
	all, err := p.cluster.RuntimeClasses(ctx)
	if _, ok := findClass(all, class); ok || err != nil {
		return nil //nolint:nilerr // see above
	}
	return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf("cluster %s has no runtime class %s; it has %s", p.cluster.Context, class, classNames(all))}
}

// findClass finds a class by its name.
func findClass(all []kube.Class, name string) (kube.Class, bool) {
	for _, c := range all {
		if c.Name == name {
			return c, true
		}
	}
	return kube.Class{}, false
}

// classNames lists the names of classes.
func classNames(all []kube.Class) string {
	if len(all) == 0 {
		return "none"
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}
