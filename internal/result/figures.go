package result

// Metrics of the machine that a trial's Machine contains and that verdicts depend on. If
// the two endpoints ran on different machines, the metrics of one endpoint have its name
// as prefix.
const (
	MachineSteal          = "cpu_steal"              // CPU seconds taken by the hypervisor, during MachineTime
	MachineTime           = "cpu_time"               // seconds of the trial itself
	MachineFullest        = "cpu_fullest"            // share of MachineTime in which the busiest CPU was not idle
	MachineOthers         = "others_cpu"             // CPU seconds of other programs, during MachineElapsed
	MachineElapsed        = "clock_elapsed"          // seconds between the first and the last reading
	MachineEndpointWait   = "endpoint_cpu_wait"      // seconds that the endpoint which waited longer was ready but had no CPU
	MachinePressureCPU    = "pressure_cpu"           // seconds in which programs waited for a CPU
	MachinePressureMemory = "pressure_memory"        // seconds in which programs waited for memory
	MachinePressureTime   = "pressure_elapsed"       // seconds over which pressure was read, if read at the endpoints
	MachineAvailable      = "memory_available"       // bytes
	MachineSwapped        = "memory_swapped"         // bytes, in and out
	MachineKills          = "memory_oom_kills"       // processes
	MachineGroupStalls    = "memory_group_stalls"    // how often a control group reached its limit
	MachineGroupKills     = "memory_group_oom_kills" // processes
	MachineThrottled      = "throttled"              // seconds for which client and server were stopped, because a CPU limit was used up
	MachineTracked        = "conntrack_use"          // used share of the connection tracking table, of the fullest stack
)
