//go:build !linux

package netns

import (
	"net/netip"

	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// path is what the rows of this package build on Linux. On other systems nothing is built: what follows
// lets the rows name what would build them. A builder in a file for Linux, see onLinux, needs nothing here.
type path struct {
	pathspec.Path
	OnLab *lab.Lab
	parts labdriver.PartSet
	mtu   int
}

func (*path) hostPlace(*lab.Host) place                       { return place{} }
func (*path) sandboxPlace(*lab.Host, string) (place, error)   { return place{}, linuxnet.ErrSystem }
func (*path) setUpSandbox(place, []netip.Prefix) error        { return linuxnet.ErrSystem }
func (*path) bridgeAt(place, lab.Net) error                   { return linuxnet.ErrSystem }
func (*path) forwarding(place) error                          { return linuxnet.ErrSystem }
func (*path) setMTU(place, string) error                      { return linuxnet.ErrSystem }
func (*path) veth(place, string, place, string) error         { return linuxnet.ErrSystem }
func (*path) child(string, *lab.Host, place) error            { return linuxnet.ErrSystem }
func (*path) addPair(_, _ place, _, _ []netip.Addr, _ uint16) {}

func (*path) addSandbox(place, *lab.Host, string, string, lab.Net, int) (sandboxAddrs, error) {
	return sandboxAddrs{}, linuxnet.ErrSystem
}

// onLinux is a part of what only Linux builds.
type onLinux struct{}

func (onLinux) build(*path) error { return linuxnet.ErrSystem }
