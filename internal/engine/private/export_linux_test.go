package private

// ExitReasonIn reads from the end of an engine's log how it exited.
func ExitReasonIn(text string) string { return exitReasonIn(text) }

// InitPID is the engine's first process, as seen from this process.
func (p *Engine) InitPID() int { return p.init.PID() }

// Cgroup is the name of the control group above all the engine's containers.
func (p *Engine) Cgroup() string { return p.cgroup }
