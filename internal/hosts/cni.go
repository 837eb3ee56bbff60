package hosts

import (
	"strings"

	"tare/internal/driver/cni"
	"tare/internal/study"
)

// cniChanges says which plugins a driver executes.
func cniChanges(d cni.Driver, s study.Study) string {
	lines := []string{"CNI plugins: programs that are not part of tare are executed with the rights of this user, or of root in the lab's user namespace, in the network namespaces of the lab, with a private /run and " + cni.StateDir + "; what they change elsewhere stays:"}
	for _, m := range s.Modes {
		if hasMode(study.Study{Modes: []study.Mode{m}}, "cni/") {
			lines = append(lines, "  "+d.Describe(m.Mode, m.Options))
		}
	}
	return strings.Join(lines, "\n")
}

// cniFiles returns the names of CNI networks in modes; some are paths of files.
func cniFiles(modes []string) (names []string) {
	for _, m := range modes {
		if kind, name, named := strings.Cut(m, ":"); named && strings.HasPrefix(kind, "cni/") {
			names = append(names, name)
		}
	}
	return names
}
