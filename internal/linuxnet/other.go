//go:build !linux

package linuxnet

import "context"

// NS is a network namespace. There are none here.
type NS struct{}

// Inside reports whether Reexec started this process: never.
func Inside() bool { return false }

// RealRoot reports whether this process is the root of a Linux machine: never.
func RealRoot() bool { return false }

// Try returns why no network namespace can be made.
func Try() error { return ErrSystem }

// Reexec enters a user namespace, which only Linux has.
func Reexec(context.Context) (int, error) { return 0, ErrSystem }

// EndWithParent has nothing to do where Reexec starts nothing.
func EndWithParent() {}

// HereFilters lists packet filters, which are read on Linux alone.
func HereFilters() ([]Filter, error) { return nil, ErrSystem }

// HereOffloads reads a device's offloads, which is done on Linux alone.
func HereOffloads(string) (map[string]bool, error) { return nil, ErrSystem }
