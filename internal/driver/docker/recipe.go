//go:build linux

package docker

import (
	"context"
	"fmt"
	"strings"

	"tare/internal/driver"
	"tare/internal/study"
)

// recipe is how one mode is made.
type recipe struct {
	engines where // that the mode needs
	raw     where // whose end is a process of the host, which no engine limits: a's is the client
	build   func(*path, context.Context) error
}

// where names hosts of a lab.
type where struct{ a, b bool }

// recipeFor finds how a mode is made, and the name that it has as a parameter.
func recipeFor(mode string) (recipe, error) {
	if stem, open := strings.CutSuffix(mode, ":NAME"); open {
		return recipe{}, &driver.Unsupported{Mode: mode, Reason: "it needs a name in the place of NAME, as in " + stem + ":fabric"}
	}
	for id, r := range recipes() {
		if study.Fits(id, mode) {
			return r, nil
		}
	}
	return recipe{}, fmt.Errorf("driver docker has no mode %q", mode)
}

func recipes() map[string]recipe {
	both, onA, onB := where{a: true, b: true}, where{a: true}, where{b: true}
	return map[string]recipe{
		"docker/host":              {engines: both, build: (*path).host},
		"docker/published":         {engines: onB, raw: onA, build: (*path).published},
		"docker/bridge":            {engines: both, build: (*path).bridge},
		"docker/colocated":         {engines: onA, build: (*path).colocated},
		"docker/to-host":           {engines: onA, raw: onB, build: (*path).toHost},
		"docker/userland-proxy":    {engines: onA, raw: onA, build: (*path).userlandProxy},
		"docker/macvlan":           {engines: both, build: (*path).macvlan},
		"docker/ipvlan":            {engines: both, build: (*path).ipvlan},
		"docker/overlay":           {engines: both, build: (*path).overlay},
		"docker/overlay-encrypted": {engines: both, build: (*path).overlayEncrypted},
		"docker/network:NAME":      {engines: both, build: (*path).network},
		"docker/driver:NAME":       {engines: both, build: (*path).driven},
	}
}
