package compare

import (
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
)

// That the machines differ is no reason against a combination; that one run is in a lab and the other between machines is.
func TestLikeMachines(t *testing.T) {
	hosts := func(addresses ...string) (s study.Study) {
		for _, a := range addresses {
			s.Hosts = append(s.Hosts, study.Host{Machine: a})
		}
		return s
	}
	first := hosts("ssh://a", "ssh://b")
	decide, _ := settings(study.Differences(first, likeMachines(hosts("ssh://c", "ssh://d"), first)))
	must.Equal(t, 0, len(decide))
	decide, _ = settings(study.Differences(first, likeMachines(study.Study{}, first)))
	must.Equal(t, 1, len(decide))
	engines := study.Study{Hosts: []study.Host{{Engine: "docker"}, {Engine: "docker:b"}}}
	decide, _ = settings(study.Differences(first, likeMachines(engines, first)))
	must.Equal(t, 1, len(decide))
	cluster := func(image string, nodes ...string) study.Study {
		return study.Study{Cluster: &study.Cluster{Image: image, Nodes: nodes}}
	}
	first = cluster("x", "a", "b")
	decide, _ = settings(study.Differences(first, likeMachines(cluster("x", "c", "d"), first)))
	must.Equal(t, 0, len(decide))
	decide, _ = settings(study.Differences(first, likeMachines(cluster("y", "c", "d"), first)))
	must.Equal(t, 1, len(decide))
}
