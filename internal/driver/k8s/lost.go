package k8s

import (
	"errors"

	"tare/internal/driver/remote"
)

// lost returns why the path can carry no further trial: an agent that reads a pod or a node has
// ended, because its pod did or because its stream was cut. The runner then sets the mode up
// again, with new pods.
func (p *path) lost() error {
	var errs []error
	for _, e := range p.pods.endpoints {
		if e.Agent != nil {
			errs = append(errs, e.Agent.Err())
		}
	}
	for _, h := range []*remote.Host{p.a, p.b} {
		if h.Monitor != nil {
			errs = append(errs, h.Monitor.Err())
		}
	}
	return errors.Join(errs...)
}
