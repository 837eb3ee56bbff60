package hosts

import (
	"testing"

	"tare/internal/analysis/identity"
	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// The machine of a run on engines is that of the engines: this one only if an engine is here.
func TestEngineHosts(t *testing.T) {
	here := []result.Fact{{Name: "cpu_model", Value: "X"}}
	tests := []struct {
		name   string
		target study.Target
		hosts  []driver.Host
		want   []result.Fact
	}{
		{"one here", study.Target{Name: "docker"}, []driver.Host{{Name: "a", Local: true}}, here},
		{"one elsewhere", study.Target{Name: "ssh://h"}, []driver.Host{{Name: "a"}}, []result.Fact{{Name: "engine", Value: "ssh://h"}}},
		{
			"two elsewhere", study.Target{Hosts: []study.Host{{Engine: "ssh://h", Address: "10.0.0.1"}, {Engine: "ssh://i", Address: "10.0.0.2"}}}, []driver.Host{{Name: "a"}, {Name: "b"}},
			[]result.Fact{{Name: "a engine", Value: "ssh://h"}, {Name: "a address", Value: "10.0.0.1"}, {Name: "b engine", Value: "ssh://i"}, {Name: "b address", Value: "10.0.0.2"}},
		},
		{
			"one of two here", study.Target{Hosts: []study.Host{{Name: "x", Engine: "docker"}, {Engine: "ssh://i"}}}, []driver.Host{{Name: "x", Local: true}, {Name: "b"}},
			[]result.Fact{{Name: "b engine", Value: "ssh://i"}, {Name: "tare cpu_model", Value: "X"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got := identity.Of(result.Run{Hosts: engineHosts(tt.target, known(tt.hosts), here)})
			must.Equal(t, tt.want, got)
		})
	}
}

// known are hosts of engines that report nothing about their machines.
type known []driver.Host

func (k known) Hosts() []driver.Host    { return k }
func (known) Machine(int) []result.Fact { return nil }
