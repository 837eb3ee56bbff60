package initramfs

import (
	"fmt"
	"os"
	"strings"
)

// Carry copies files of this machine to the same paths in the archive, as they are, but
// for those that are there already. Which ones belong together, Loader.Needs tells.
func (a *Archive) Carry(files ...string) error {
	for _, f := range files {
		if err := a.carry(f); err != nil {
			return fmt.Errorf("carry %s into the guest: %w", f, err)
		}
	}
	return nil
}

func (a *Archive) carry(path string) error {
	name := strings.TrimPrefix(path, "/")
	if a.made[name] {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is no file: %s", info.Mode())
	}
	return a.File(name, uint32(info.Mode().Perm()), f, info.Size())
}
