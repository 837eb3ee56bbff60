//go:build !linux

package agent

import "errors"

// startOrdered is for the first process of a container of Linux.
func startOrdered(string) error { return errors.New("only a container of Linux has a first process") }
