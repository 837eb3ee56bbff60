//go:build !linux

package here

import (
	"errors"
	"net/netip"
	"runtime"
)

// errSystem is returned for everything.
var errSystem = errors.New("devices are read on Linux only, and this is " + runtime.GOOS)

// Details returns an error.
func Details(string) (LinkDetails, error) { return LinkDetails{}, errSystem }

// DriverStats returns an error.
func DriverStats(string) (map[string]uint64, error) { return nil, errSystem }

// Route returns an error.
func Route(netip.Addr) (string, error) { return "", errSystem }

// Filters returns an error.
func Filters() ([]Filter, error) { return nil, errSystem }

// Offloads returns an error.
func Offloads(string) (map[string]bool, error) { return nil, errSystem }
