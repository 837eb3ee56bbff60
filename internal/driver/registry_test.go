package driver

import (
	"context"
	"testing"
	"time"

	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// shelf is a driver of which only the list of modes is used.
type shelf []Mode

func (s shelf) Modes() []Mode                                 { return s }
func (shelf) Probe(context.Context, Order) error              { return nil }
func (shelf) Provision(context.Context, Order) (*Path, error) { return nil, context.Canceled }

// A mode is found by its name, also with a user-supplied name in it.
func TestRegistry(t *testing.T) {
	r := Registry{shelf{{ID: "host"}, {ID: "docker/network:NAME", Baseline: "host", SetupTime: 2 * time.Second, Own: []OwnSetting{
		{SettingSpec: study.SettingSpec{Name: "slow"}, Takes: func(string) time.Duration { return time.Minute }}, {SettingSpec: study.SettingSpec{Name: "fast"}},
	}}}}
	for mode, want := range map[string]string{"host": "host", "docker/network:blue": "docker/network:blue"} {
		d, m, err := r.For(mode)
		must.True(t, err == nil && m.ID == want && d != nil, "%s: %+v, %v", mode, m, err)
	}
	for _, mode := range []string{"", "docker/network", "docker/network:", "hos"} {
		if _, m, err := r.For(mode); err == nil {
			t.Errorf("%q is %+v", mode, m)
		}
	}
	s := study.Study{Modes: []study.Mode{{Mode: "host"}, {Mode: "docker/network:a"}, {Mode: "docker/network:b", ID: "b", With: map[string]string{"slow": "1", "fast": "1"}}}}
	if got, want := r.SetupTime(s), plan.ModeOverhead+4*time.Second+time.Minute; got != want {
		t.Errorf("takes %s, want %s", got, want)
	}
}
