//go:build !linux

package facts

import "errors"

// capabilities are a thing of Linux.
func capabilities() (netAdmin, sysAdmin Answer) {
	a := maybe(errors.New("this system has no capabilities"))
	return a, a
}
