//go:build linux

package linuxnet

// The views of a namespace: each has the functions for one purpose, so that code which receives one
// sees what it needs. A view is the namespace itself: it costs nothing, and ends with it.
type (
	Links   NS // devices: made, joined, renamed, removed, listed
	Routes  NS // addresses, routes and neighbours
	Tuning  NS // what a device does by itself: offloads, queues, rate, attributes
	Rules   NS // what counts, translates, tracks and drops packets
	Decoys  NS // rules that match nothing, as a host with many containers has
	Tunnels NS // what the kernel encrypts: WireGuard and IPsec
	Sockets NS // processes and their sockets
)

// Links returns the view of the devices.
func (ns *NS) Links() *Links { return (*Links)(ns) }

// Routes returns the view of addresses, routes and neighbours.
func (ns *NS) Routes() *Routes { return (*Routes)(ns) }

// Tuning returns the view of offloads, queues and attributes of devices.
func (ns *NS) Tuning() *Tuning { return (*Tuning)(ns) }

// Rules returns the view of packet rules and connection tracking.
func (ns *NS) Rules() *Rules { return (*Rules)(ns) }

// Decoys returns the view of rules that match nothing.
func (ns *NS) Decoys() *Decoys { return (*Decoys)(ns) }

// Tunnels returns the view of WireGuard and IPsec.
func (ns *NS) Tunnels() *Tunnels { return (*Tunnels)(ns) }

// Sockets returns the view of processes and their sockets.
func (ns *NS) Sockets() *Sockets { return (*Sockets)(ns) }

func (l *Links) whole() *NS   { return (*NS)(l) }
func (r *Routes) whole() *NS  { return (*NS)(r) }
func (t *Tuning) whole() *NS  { return (*NS)(t) }
func (r *Rules) whole() *NS   { return (*NS)(r) }
func (d *Decoys) whole() *NS  { return (*NS)(d) }
func (t *Tunnels) whole() *NS { return (*NS)(t) }
func (s *Sockets) whole() *NS { return (*NS)(s) }
