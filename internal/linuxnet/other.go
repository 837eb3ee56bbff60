//go:build !linux

package linuxnet

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
)

// NS is a network namespace. They exist on Linux only.
type NS struct{}

// Inside reports whether Reexec started this process: never.
func Inside() bool { return false }

// RealRoot reports whether this process is the root of a Linux machine: never.
func RealRoot() bool { return false }

// Try returns ErrSystem.
func Try() error { return ErrSystem }

// Reexec returns ErrSystem.
func Reexec(context.Context) (int, error) { return 0, ErrSystem }

// EndWithParent does nothing.
func EndWithParent() {}

// HereFilters returns ErrSystem.
func HereFilters() ([]Filter, error) { return nil, ErrSystem }

// HereOffloads returns ErrSystem.
func HereOffloads(string) (map[string]bool, error) { return nil, ErrSystem }

// errDevices is returned for what is read of devices.
var errDevices = errors.New("devices are read on Linux only, and this is " + runtime.GOOS)

// HereDetails returns an error.
func HereDetails(string) (LinkDetails, error) { return LinkDetails{}, errDevices }

// HereDriverStats returns an error.
func HereDriverStats(string) (map[string]uint64, error) { return nil, errDevices }

// HereRoute returns an error.
func HereRoute(netip.Addr) (string, error) { return "", errDevices }
