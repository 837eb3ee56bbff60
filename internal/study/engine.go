package study

// PackagedEngine and CurrentEngine name private Docker Engines: the one whose programs are found in
// PATH, and the newest one that scripts/setup-engines has built.
const (
	PackagedEngine = "packaged"
	CurrentEngine  = "current"
)

// FirewallIptables and FirewallNftables are the backends of an engine's rules.
const (
	FirewallIptables = "iptables"
	FirewallNftables = "nftables"
)

// The runtimes of an engine's containers: runc, gVisor with the network stack of its sandbox, and
// gVisor that uses the kernel's network stack.
const (
	RuntimeRunc         = "runc"
	RuntimeRunsc        = "runsc"
	RuntimeRunscHostnet = "runsc-hostnet"
)

// The network drivers and port drivers of RootlessKit, with which an ordinary user runs an engine.
const (
	RootlessSlirp    = "slirp4netns"
	RootlessPasta    = "pasta"
	RootlessGvisor   = "gvisor-tap-vsock"
	RootlessLXC      = "lxc-user-nic"
	RootlessBuiltin  = "builtin"
	RootlessImplicit = "implicit"
)

// Engine is the private Docker Engine of a mode, and its settings. The zero Engine is the packaged
// one with its defaults.
type Engine struct {
	Lab           string // PackagedEngine, CurrentEngine, a version in the cache, or an absolute path
	Firewall      string // FirewallIptables or FirewallNftables; empty for the engine's default
	UserlandProxy string // On or Off; empty for the engine's default
	DirectRouting string // On or Off; empty for the engine's default
	Runtime       string // of its containers: RuntimeRunc, RuntimeRunsc or RuntimeRunscHostnet; empty for RuntimeRunc
	// RootlessNet and RootlessPort are the network driver and the port driver of RootlessKit, for an
	// engine of an ordinary user; empty for Docker's defaults.
	RootlessNet, RootlessPort string
}

// Fields declares the keys of an Engine and their rules.
func (e *Engine) Fields() []Field {
	return []Field{
		key("lab", text(&e.Lab, `^(/[^\x00-\x1f\x7f-\x9f:]+|[A-Za-z0-9][A-Za-z0-9_.+-]{0,99})$`,
			"packaged, current, a version that tare engines lists, or the absolute path of a dockerd", 500), "which private Docker Engine builds the mode; packaged when absent"),
		key("firewall", choice(&e.Firewall, FirewallIptables, FirewallNftables), "backend of the engine's rules; the engine's default when absent"),
		key("userland_proxy", choice(&e.UserlandProxy, On, Off), "docker-proxy beside the rules of published ports; the engine's default, on, when absent"),
		key("direct_routing", choice(&e.DirectRouting, On, Off), "other hosts reach containers at their own addresses, where the gateway mode is nat (--allow-direct-routing); the engine's default, off since version 28, when absent"),
		key("runtime", choice(&e.Runtime, RuntimeRunc, RuntimeRunsc, RuntimeRunscHostnet),
			"what runs its containers: runsc is gVisor with a network stack of its own, runsc-hostnet is gVisor with --network=host; runc when absent"),
		key("rootless_net", choice(&e.RootlessNet, RootlessSlirp, RootlessPasta, RootlessGvisor, RootlessLXC), "RootlessKit's network driver, of the rootless modes; Docker's default when absent"),
		key("rootless_port", choice(&e.RootlessPort, RootlessBuiltin, RootlessSlirp, RootlessImplicit, RootlessGvisor), "RootlessKit's port driver, of the rootless modes; Docker's default when absent"),
	}
}
