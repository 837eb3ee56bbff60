package existing

import "tare/internal/engine"

// SetBoot makes a driver take another boot id for that of this machine, so that the engines
// of a test run on another kernel.
func SetBoot(d *Driver, boot string) { d.here.boot = boot }

// Identity is machineIdentity.
type Identity struct {
	System, Kernel string
	Memory         uint64
}

// WithEngine returns a driver on a machine that has connected to an engine.
func WithEngine(on Identity, e *engine.Engine) *Driver {
	d := New([]Host{{Target: e.Address}}, false)
	d.here = machineIdentity{system: on.System, kernel: on.Kernel, memory: on.Memory}
	d.open[0] = e
	return d
}
