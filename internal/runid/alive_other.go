//go:build !linux

package runid

// hold does nothing: on this system, what a run creates ends with its process.
func hold(string) (release func(), err error) { return func() {}, nil }

// Running returns nothing: on this system a run creates nothing that outlives its process.
func Running() ([]string, error) { return nil, nil }
