package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/enginetest"
	"tare/internal/testkit/must"
)

// A Swarm's network is a leftover on the manager, which alone can remove it, and its containers are
// leftovers on each engine that has them.
func TestEnginesLeftoversOfSwarm(t *testing.T) {
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	a, b := enginetest.Both(t, l)
	ctx := t.Context()
	must.Do(t, private.Swarm(ctx, l, a, b))
	const dead = "00000001"
	spec := engine.NetworkSpec{Run: dead, Name: engine.Name(dead, "net"), Driver: "overlay", Attachable: true, Subnet: l.Addresses(lab.NetOverlay, 1)[0].Masked()}
	n := must.Get(a.CreateNetwork(ctx, spec))(t)
	must.True(t, n.Scope == engine.ScopeSwarm && n.Attachable, "%+v", n)
	for _, p := range []*private.Engine{a, b} {
		c := must.Get(p.Run(ctx, engine.ContainerSpec{Run: dead, Part: "client", Name: engine.Name(dead, "client", p.Name), Network: spec.Name}))(t)
		must.True(t, len(c.Addresses()) != 0 && spec.Subnet.Contains(c.Addresses()[0]), "engine %s: %+v", p.Name, c.Endpoints)
	}
	for _, p := range []*private.Engine{b, a} {
		left := must.Get(p.Leftovers(ctx, nil))(t)
		var what []string
		for _, x := range left {
			word, _, _ := strings.Cut(x.What, " ")
			what = append(what, word)
			if err := x.Remove(ctx); err != nil {
				t.Error(err)
			}
		}
		want := []string{"container", "network", "image"}
		if p == b {
			want = []string{"container", "image"}
		}
		if diff := cmp.Diff(want, what); diff != "" {
			t.Errorf("engine %s (-want +got):\n%s", p.Name, diff)
		}
	}
}
