package k8s

import (
	"fmt"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/kube"
)

// The options of modes. OptionPolicy and OptionClass are those of modes with a service that is
// reached from outside, OptionAddress of those through a controller, the others of all modes with pods.
const (
	OptionPolicy       = "policy"       // external traffic policy: Cluster or Local
	OptionEndpoint     = "endpoint"     // of k8s/nodeport: EndpointOther
	OptionClass        = "class"        // of the load balancer
	OptionAddress      = "address"      // of an ingress controller or gateway: IP or IP:PORT
	OptionPolicies     = "policies"     // number of network policies that select the pods
	OptionServices     = "services"     // number of services without traffic that exist beside the mode
	OptionRuntimeClass = "runtimeClass" // of the pods
	OptionSidecars     = "sidecars"     // of the pods: off
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
		case name == OptionSidecars:
			if value != driver.Off {
				return fmt.Errorf("option %s is %q; it must be %s, or left out for pods as the cluster makes them", name, value, driver.Off)
			}
		case name == OptionClass && o.Mode == loadBalancer && value != "":
		case name == OptionAddress && ThroughController(o.Mode):
			if _, _, err := parseAddress(value, kube.HTTPPort); err != nil {
				return err
			}
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
