package engines

// recipe is a part of all recipes. On systems other than Linux it is what builds them.
type recipe struct{}

// isRecipe lets a mode be built by these types alone.
func (recipe) isRecipe() {}

// The recipes by which modes are built. A recipe is what differs between modes that are built alike.
type (
	// Containers in their host's network.
	hostNetwork struct{ recipe }

	// Process on a, underlay, DNAT on b, the engine's default bridge, container on b.
	published struct {
		recipe
		masqueraded bool // the clients are in containers behind the masquerading bridge of a
		task        bool // the server is a task of a service, which is on the default bridge too, with its port published in mode host
	}

	// Two containers for each pair on docker0 of a.
	colocated struct{ recipe }

	// Container on a to a process on a, at the underlay address of a.
	toHost struct{ recipe }

	// Process on a to a published port of a at the loopback address, which no rule translates: docker-proxy
	// accepts the connection and opens another one to the container.
	userlandProxy struct{ recipe }

	// Process on a, underlay, bridge of a network of the engine on b, container on b. In the mode isolated the
	// two containers of each pair are on a bridge of a on which the host has no address.
	gateway struct {
		recipe
		mode       string // one of Docker's gateway modes
		translated bool   // the client dials published ports, else the servers' own addresses
		direct     bool   // the servers' own addresses are dialled, although their ports are published
	}

	// Process on a, underlay, DNAT on b, docker_gwbridge, load balancer in the namespace of the mesh, network
	// ingress, container of a service's task on b. If the endpoint is another node, the client dials the node
	// that it runs on, whose load balancer forwards over the VXLAN of the network ingress to the task on b.
	routingMesh struct{ recipe }

	// Process on a, a published port of b at which RootlessKit or its network driver listens, and behind it the
	// engine's network namespace with the container.
	rootless struct {
		recipe
		out bool // container in the engine's network namespace on a, the network driver, process on b
	}

	// Containers on a network whose parent is their host's underlay device.
	onUnderlay struct {
		recipe
		kind string // the driver: macvlan, or ipvlan in its default mode l2
	}

	// Containers on an attachable overlay of a Swarm of the two engines.
	overlay struct {
		recipe
		encrypted bool // with IPsec ESP between the hosts
	}

	// Containers on an existing network.
	existingNetwork struct{ recipe }

	// Containers on a network created with the requested driver and options. It is removed with the engines.
	createdNetwork struct{ recipe }

	// Process on a, underlay, on b a process that connects an ordinary user's container.
	userMode struct {
		recipe
		program string // slirp4netns, whose published ports are those of rootlessport, or pasta
	}
)

// The gateway modes of Docker's bridge driver. With nat, the default, published ports are translated, and
// outgoing connections masqueraded. With routed the host routes to containers and translates nothing,
// and the engine's rules accept published ports only. With nat-unprotected the host masquerades outgoing
// connections and accepts all incoming ones.
const (
	gatewayNAT         = "nat"
	gatewayRouted      = "routed"
	gatewayUnprotected = "nat-unprotected"
	gatewayIsolated    = "isolated"
)
