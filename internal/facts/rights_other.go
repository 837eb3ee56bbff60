//go:build !linux

package facts

import "errors"

// capabilities exist on Linux only.
func capabilities() (netAdmin, sysAdmin Answer) {
	a := maybe(errors.New("this system has no capabilities"))
	return a, a
}
