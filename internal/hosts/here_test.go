package hosts

import (
	"errors"
	"testing"

	"tare/internal/testkit/must"
)

// A run that names nothing measures what users run: an engine where there is one that this user can have, and else it
// says that namespaces are not Docker, and why.
func TestChoice(t *testing.T) {
	root := errors.New("a Docker Engine on a host of the lab needs root; run tare as root")
	none := errors.New("a Docker Engine on a host of the lab needs dockerd, which cannot be found")
	for name, tt := range map[string]struct {
		found          Found
		study, target  string
		said, unspoken []string
	}{
		"private engines": {Found{Installed: true}, "docker", "", []string{"private engines", "yours is not touched", "tare run default"}, nil},
		"a running engine that this user may use": {Found{Private: root, Installed: true, Engine: "docker"}, "engine", "docker",
			[]string{"the engine docker", "sudo tare run docker", "tare run default"}, nil},
		"a running engine without dockerd": {Found{Private: none, Engine: "unix:///run/podman/podman.sock"}, "engine", "unix:///run/podman/podman.sock", []string{"podman.sock"}, []string{"sudo"}},
		"a running engine that this user may not use": {Found{Private: root, Installed: true, Refused: "permission denied; join the group"}, "default", "",
			[]string{"namespaces, not Docker", "permission denied; join the group", "sudo tare run docker"}, nil},
		"installed, without root": {Found{Private: root, Installed: true}, "default", "", []string{"needs root", "sudo tare run docker"}, nil},
		"nothing":                 {Found{Private: none}, "default", "", []string{"namespaces, not Docker: no Docker Engine is installed here"}, []string{"sudo", "instead"}},
		"a cluster and no engine": {Found{Private: none, Cluster: "prod"}, "default", "", []string{"namespaces, not Docker", "tare run --kube (the cluster prod)"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := tt.found.Choice()
			must.Equal(t, []string{tt.study, tt.target}, []string{got.Study, got.Target.Name})
			must.Contain(t, got.Text, tt.said...)
			for _, text := range tt.unspoken {
				must.NotContain(t, got.Text, text)
			}
		})
	}
}
