//go:build !linux

package runid

// hold does nothing: on this system, what a run creates ends with its process.
func hold(string) (release func(), err error) { return func() {}, nil }

// Hold does nothing.
func Hold(string) (release func(), err error) { return func() {}, nil }

// List returns nothing: on this system a run creates nothing that outlives its process.
func List() (Claims, error) { return nil, nil }
