package result

// Figures of the machine that a trial's Machine holds and verdicts rest on. Where the two
// ends ran on machines of their own, those of one end begin with its name.
const (
	MachineSteal          = "cpu_steal"              // CPU seconds that the hypervisor took, of MachineTime
	MachineTime           = "cpu_time"               // seconds of the trial's own
	MachineFullest        = "cpu_fullest"            // share of MachineTime in which the fullest CPU was not idle
	MachineOthers         = "others_cpu"             // CPU seconds of other programs, of MachineElapsed
	MachineElapsed        = "clock_elapsed"          // seconds from the first reading to the last
	MachinePressureCPU    = "pressure_cpu"           // seconds in which programs waited for a CPU
	MachinePressureMemory = "pressure_memory"        // seconds in which programs waited for memory
	MachinePressureTime   = "pressure_elapsed"       // seconds that pressure is of, where it was read at the ends
	MachineAvailable      = "memory_available"       // bytes
	MachineSwapped        = "memory_swapped"         // bytes, in and out
	MachineKills          = "memory_oom_kills"       // processes
	MachineGroupStalls    = "memory_group_stalls"    // times that a control group's limit was met
	MachineGroupKills     = "memory_group_oom_kills" // processes
	MachineTracked        = "conntrack_use"          // share of the room for tracked connections in use, of the fullest stack
)
