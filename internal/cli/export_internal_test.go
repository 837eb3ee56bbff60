package cli

import (
	"tare/internal/result"
	"tare/internal/store"
)

// Judged is a run as reports show it, made up from its directory.
func (a App) Judged(path string) (result.Run, error) {
	dir, err := store.Open(path)
	if err != nil {
		return result.Run{}, err
	}
	defer dir.Close()
	in, err := a.input(dir)
	return in.Run, err
}
