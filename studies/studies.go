// Package studies holds the studies that come with tare: starting points to run
// as they are or to copy and change. Each is a study file of this folder, and
// its name is the file's without .yaml.
package studies

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Builtin gives the text of the study of that name, and whether there is one.
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
	return names
}
