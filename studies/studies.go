// Package studies contains the built-in studies: starting points to run unchanged or to
// copy and change. Each is a study file in this directory, named like the file without
// .yaml.
package studies

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Builtin returns the text of the study of that name, and whether it exists.
func Builtin(name string) ([]byte, bool) {
	src, err := files.ReadFile(name + ".yaml")
	return src, err == nil
}

// Names lists the studies in alphabetical order.
func Names() []string {
	paths, err := fs.Glob(files, "*.yaml")
	if err != nil { // only for a malformed pattern
		return nil
	}
	names := make([]string, 0, len(paths))
	for _, p := range paths {
		names = append(names, strings.TrimSuffix(p, ".yaml"))
	}
	slices.Sort(names) // rootless-flows.yaml sorts before rootless.yaml, its name does not
	return names
}
