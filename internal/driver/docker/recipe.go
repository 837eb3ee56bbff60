//go:build linux

package docker

import (
	"context"
	"fmt"
	"strings"

	"tare/internal/driver"
	"tare/internal/study"
)

// recipe is how a mode is built.
type recipe struct {
	engines hostSet // required by the mode
	raw     hostSet // hosts whose endpoint is a host process, without limits: the client is on a
	build   func(*path, context.Context) error
}

// hostSet is a set of hosts of a lab.
type hostSet struct{ a, b bool }

// recipeFor returns the recipe of a mode with its settings.
func recipeFor(o driver.Order) (recipe, error) {
	if stem, open := strings.CutSuffix(o.Mode, ":NAME"); open {
		return recipe{}, &driver.Unsupported{Mode: o.Mode, Reason: "replace NAME with a name, as in " + stem + ":fabric"}
	}
	for id, r := range recipes() {
		if study.Fits(id, o.Mode) {
			if o.With[settingEndpoint] == endpointOther {
				r.engines = hostSet{a: true, b: true} // the node that is dialled, and that of the task
			}
			return r, nil
		}
	}
	return recipe{}, fmt.Errorf("driver docker has no mode %q", o.Mode)
}

func recipes() map[string]recipe {
	both, onA, onB := hostSet{a: true, b: true}, hostSet{a: true}, hostSet{b: true}
	return map[string]recipe{
		"docker/host":              {engines: both, build: (*path).host},
		"docker/published":         {engines: onB, raw: onA, build: (*path).published},
		"docker/bridge":            {engines: both, build: (*path).bridge},
		"docker/colocated":         {engines: onA, build: (*path).colocated},
		"docker/to-host":           {engines: onA, raw: onB, build: (*path).toHost},
		"docker/userland-proxy":    {engines: onA, raw: onA, build: (*path).userlandProxy},
		"docker/routed":            {engines: onB, raw: onA, build: (*path).routed},
		"docker/nat-unprotected":   {engines: onB, raw: onA, build: (*path).natUnprotected},
		"docker/nat":               {engines: onB, raw: onA, build: (*path).nat},
		"docker/direct-routing":    {engines: onB, raw: onA, build: (*path).directRouting},
		"docker/isolated":          {engines: onA, build: (*path).isolated},
		serviceHostPortMode:        {engines: onB, raw: onA, build: (*path).serviceHostPort},
		ingressMode:                {engines: onB, raw: onA, build: (*path).ingress},
		rootlessMode:               {engines: onB, raw: onA, build: (*path).rootless},
		rootlessOutMode:            {engines: onA, raw: onB, build: (*path).rootlessOut},
		"docker/macvlan":           {engines: both, build: (*path).macvlan},
		"docker/ipvlan":            {engines: both, build: (*path).ipvlan},
		"docker/overlay":           {engines: both, build: (*path).overlay},
		"docker/overlay-encrypted": {engines: both, build: (*path).overlayEncrypted},
		"docker/network:NAME":      {engines: both, build: (*path).network},
		"docker/driver:NAME":       {engines: both, build: (*path).networkWithDriver},
	}
}
