package cli

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/study"
)

// made says what a run of the study makes, where, and which rights that takes.
func (a App) made(s study.Study) []string {
	names := func(prefix string) bool {
		return slices.ContainsFunc(s.Modes, func(m study.Mode) bool { return strings.HasPrefix(m.Mode, prefix) })
	}
	if a.guest != nil {
		lines := []string{
			fmt.Sprintf("engine: %s, existing; made on it and taken away again: an image of this program, containers and networks, all with the label io.tare.run", a.named),
		}
		switch {
		case names("docker/overlay") && a.allowSwarm:
			lines = append(lines, "Swarm: the one there is; where there is none, one is made for the run and left again (--yes)")
		case names("docker/overlay"):
			lines = append(lines, "Swarm: the one there is; none is made without --yes")
		}
		return append(lines, "rights: to speak to the engine, and no others; what is the user's on it is not touched")
	}
	lines := []string{fmt.Sprintf("lab: underlay MTU %d, offload %s, rate limit %s", s.Lab.MTU, s.Lab.Offload, orNone(s.Lab.Rate))}
	rights := "rights: network namespaces, links and nftables rules inside them, so root or unprivileged user namespaces"
	if names("docker/") {
		engines := "engine: lab: private Docker Engines on the lab's hosts, with data of their own below /var/lib/tare/engines, ended with the run"
		if names("docker/overlay") {
			engines += "; those of an overlay form a Swarm of their own"
		}
		lines = append(lines, engines)
		rights = "rights: root, for the engines of the docker modes; the others can do with unprivileged user namespaces"
	}
	return append(lines, rights+";\nnothing outside the lab's own namespaces is changed")
}
