//go:build linux

package linuxnet

// Links is a view of a namespace: its devices, made, joined, renamed, removed, listed. Each view has the functions for one
// purpose, so that code which receives one sees what it needs. A view is the namespace itself: it costs nothing, and ends
// with it.
type Links NS

// Routes is the view of addresses, routes and neighbours.
type Routes NS

// Tuning is the view of what a device does by itself: offloads, queues, rate, attributes.
type Tuning NS

// Rules is the view of what counts, translates, tracks and drops packets.
type Rules NS

// Decoys is the view of rules that match nothing, as a host with many containers has.
type Decoys NS

// Tunnels is the view of what the kernel encrypts: WireGuard and IPsec.
type Tunnels NS

// Sockets is the view of processes and their sockets.
type Sockets NS

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
