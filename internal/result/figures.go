package result

// Figures of the machine that a trial's Machine holds and verdicts rest on. Where the two
// ends ran on machines of their own, those of one end begin with its name.
const (
	FigureSteal          = "cpu_steal"              // CPU seconds that the hypervisor took, of FigureTime
	FigureTime           = "cpu_time"               // seconds of the trial's own
	FigureFullest        = "cpu_fullest"            // share of FigureTime in which the fullest CPU was not idle
	FigureOthers         = "others_cpu"             // CPU seconds of other programs, of FigureElapsed
	FigureElapsed        = "clock_elapsed"          // seconds from the first reading to the last
	FigurePressureCPU    = "pressure_cpu"           // seconds in which programs waited for a CPU
	FigurePressureMemory = "pressure_memory"        // seconds in which programs waited for memory
	FigurePressureTime   = "pressure_elapsed"       // seconds that pressure is of, where it was read at the ends
	FigureAvailable      = "memory_available"       // bytes
	FigureSwapped        = "memory_swapped"         // bytes, in and out
	FigureKills          = "memory_oom_kills"       // processes
	FigureGroupStalls    = "memory_group_stalls"    // times that a control group's limit was met
	FigureGroupKills     = "memory_group_oom_kills" // processes
	FigureTracked        = "conntrack_use"          // share of the room for tracked connections in use, of the fullest stack
)
