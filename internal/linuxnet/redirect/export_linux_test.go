package redirect

import "tare/internal/linuxnet"

// NewClsact is New as on a kernel without tcx.
func NewClsact(host *linuxnet.NS, underlay string) (*Router, error) {
	return newRouter(host, underlay, attachClsact)
}
