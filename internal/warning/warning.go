// Package warning is the registry of the warnings of a run and of the notes of its trials:
// their codes, how severe each is, when it is given, what it does to the result and how to
// fix it. The texts are those of docs/warnings.md and docs/tools.md; a test keeps the pages
// and the registry the same.
package warning

import (
	"slices"
	"sync"
)

// Code names a warning or a note in a run's files.
type Code string

// Severity says what a warning does to the comparison of modes.
type Severity int

// The severities, in ascending order.
const (
	Note   Severity = iota // good to know: no effect on a comparison
	Spread                 // affects all modes alike: values are lower or vary more, ratios are valid
	Bias                   // voids or biases a comparison between modes
)

// String is the severity as docs/warnings.md writes it.
func (s Severity) String() string {
	switch s {
	case Spread:
		return "spread"
	case Bias:
		return "bias"
	}
	return "note"
}

// Section is a section of docs/warnings.md.
type Section string

// The sections, in the order of the page. Those of [Machine], [Existing] and
// [Link] are known before a run, and tare doctor lists them. The notes of [Tools] are in docs/tools.md.
const (
	Verdicts Section = "The verdicts"
	Traffic  Section = "The traffic"
	Run      Section = "The run"
	Machine  Section = "The machine"
	Existing Section = "The host of an existing engine"
	Link     Section = "The link between two machines"
	Foreign  Section = "Numbers from elsewhere"
	Tools    Section = "External tools"
)

// Entry is a warning of the registry.
type Entry struct {
	Code     Code
	Severity Severity
	Section  Section
	Scope    string // what the scope of such a warning names: "run", or words of "mode workload metric", or both

	// Short is the warning in one line of at most 80 columns. Braces enclose the part that Say
	// replaces where a warning has values; in it $1 is the first value.
	Short, Say string

	When   string // what was seen
	Effect string // what it does to the result; empty for notes of tools
	Fix    string

	// Causes are the warnings that explain this one. Where one of them is given as well, a
	// short report shows only that one.
	Causes []Code
}

// The codes.
const (
	FewCores           Code = "few_cores"
	SMT                Code = "smt"
	PowersaveGovernor  Code = "powersave_governor"
	NoConstantClock    Code = "no_constant_clock"
	BusyMachine        Code = "busy_machine"
	OthersNow          Code = "others_now"
	StealNow           Code = "steal_now"
	CPUQuota           Code = "cpu_quota"
	VirtualMachine     Code = "virtual_machine"
	InContainer        Code = "in_container"
	MitigationsOff     Code = "mitigations_off"
	MemoryLimit        Code = "memory_limit"
	NUMASpans          Code = "numa_spans"
	FakedProcStat      Code = "faked_proc_stat"
	BBRDefault         Code = "bbr_default"
	NoCubic            Code = "no_cubic"
	CubicRestricted    Code = "cubic_restricted"
	HostFiltered       Code = "host_filtered"
	ConntrackFilled    Code = "conntrack_filled"
	Irqbalance         Code = "irqbalance"
	DeviceOffloads     Code = "device_offloads"
	LargePacketsLost   Code = "large_packets_lost"
	PacketsDamaged     Code = "packets_damaged"
	PathLossy          Code = "path_lossy"
	DirectionBlocked   Code = "direction_blocked"
	PathMTUSmaller     Code = "path_mtu_smaller"
	LinkPaused         Code = "link_paused"
	Throttled          Code = "throttled"
	InjectedContainers Code = "injected_containers"
	NodeBusy           Code = "node_busy"
	CardDrops          Code = "card_drops"
	HostsDiffer        Code = "hosts_differ"
	LinksDiffer        Code = "links_differ"
	ClocksApart        Code = "clocks_apart"
	SharedKernel       Code = "shared_kernel"
	WarmupNotVerified  Code = "warmup_not_verified"
	OtherRun           Code = "other_run"
	OneCPU             Code = "one_cpu"
	PlacementFree      Code = "placement_free"
	NotObserved        Code = "not_observed"
	NoCPUCost          Code = "no_cpu_bill"
	PilotFailed        Code = "pilot_failed"
	PilotUnsettled     Code = "pilot_unsettled"
	KeptAtLink         Code = "kept_at_link"
	NotQuiet           Code = "not_quiet"
	MaxTime            Code = "max_time"
	InvalidTrials      Code = "invalid_trials"
	NoisyWorkload      Code = "noisy_workload"
	StacksUnavailable  Code = "stacks_unavailable"
	StacksUnknown      Code = "stacks_unknown"
	StacksLost         Code = "stacks_lost"
	CostPassMissing    Code = "cost_pass_missing"
	Paced              Code = "paced"
	CongestionChosen   Code = "congestion_chosen"
	LinkLimited        Code = "link_limited"
	UnderlaySaturated  Code = "underlay_saturated"
	CoreSaturated      Code = "core_saturated"
	BBRPaces           Code = "bbr_paces"
	BusyTurns          Code = "busy_turns"
	WorkloadFailed     Code = "workload_failed"
	WorkloadLeftOut    Code = "workload_unsupported"
	LimitsSkipped      Code = "limits_skipped"
	NeighbourTable     Code = "neighbour_table"
	MSSDiffers         Code = "mss_differs"
	MTUDiffers         Code = "mtu_differs"
	UDPFragments       Code = "udp_fragments"
	OffloadsDiffer     Code = "offloads_differ"
	SettingsDiffer     Code = "settings_differ"
	CongestionDiffers  Code = "congestion_differs"
	BuffersDiffer      Code = "buffers_differ"
	BaselineFiltered   Code = "baseline_filtered"
	LargeDropped       Code = "large_packets_dropped"
	EmulatedCPU        Code = "emulated_cpu"
	BridgeNetfilter    Code = "bridge_netfilter"
	MemoryPressure     Code = "memory_pressure"
	Swapping           Code = "swapping"
	OOMKill            Code = "oom_kill"
	CPUPressure        Code = "cpu_pressure"
	ConntrackFull      Code = "conntrack_full"
	CongestionControl  Code = "congestion_control"
	BufferClamped      Code = "buffer_clamped"
	SearchAtLeast      Code = "search_at_least"
	SearchNoResult     Code = "search_no_result"
	SearchUnfinished   Code = "search_unfinished"
	LossInversion      Code = "loss_inversion"
	TCPLoss            Code = "tcp_loss"
	GeneratorLimited   Code = "generator_limited"
	LossUnexplained    Code = "loss_unexplained"
	LostExchanges      Code = "lost_exchanges"
	ForeignTraffic     Code = "foreign_traffic"
	Shaped             Code = "shaped"
	OffloadUnavailable Code = "offload_unavailable"
	PortsExhausted     Code = "ports_exhausted"
	TimeWaitFull       Code = "time_wait_full"
	NotResumed         Code = "not_resumed"
	NotRecovered       Code = "not_recovered"
	ThreadsNotSet      Code = "threads_not_set"
	BaselineMissing    Code = "baseline_missing"
	BeatsBaseline      Code = "beats_baseline"
	ControlDiffers     Code = "control_differs"
	ToolsDisagree      Code = "tools_disagree"
	TwoBands           Code = "two_bands"
	TestsDisagree      Code = "tests_disagree"
	BadValue           Code = "bad_value"
	UnknownMetric      Code = "unknown_metric"
	TrialsMissing      Code = "trials_missing"
	StaleRun           Code = "stale_run"
	OtherExperiment    Code = "other_experiment"
	StudyChanged       Code = "study_changed"
	DifferentMachines  Code = "different_machines"
	MachineChanged     Code = "machine_changed"
	DuplicateTrials    Code = "duplicate_trials"
	DecimalComma       Code = "decimal_comma"
	MissingBlock       Code = "missing_block"
	MissingValue       Code = "missing_value"
	OneValue           Code = "one_value"
	UnknownColumn      Code = "unknown_column"
	ZeroValue          Code = "zero_value"
	ToolSays           Code = "tool_says"
	ToolPacing         Code = "tool_pacing"
	ToolOneThread      Code = "tool_one_thread"
	ToolLossCount      Code = "tool_loss_count"
	ToolPhantomLoss    Code = "tool_phantom_loss"
	TailLoss           Code = "tail_loss"
	ToolWholeTrial     Code = "tool_whole_trial"
	ToolNoLoss         Code = "tool_no_loss"
	ToolBuffers        Code = "tool_buffers"
	ToolIgnored        Code = "tool_ignored"
	ToolVersions       Code = "tool_versions"
)

// All lists the registry in the order of docs/warnings.md, which is that of importance.
func All() []Entry {
	var out []Entry
	for _, part := range []struct {
		section Section
		entries []Entry
	}{
		{Verdicts, verdicts()}, {Traffic, traffic()}, {Run, run()}, {Machine, machine()}, {Existing, existing()}, {Link, link()}, {Foreign, foreign()}, {Tools, tools()},
	} {
		for _, e := range part.entries {
			e.Section, e.Causes = part.section, causes()[e.Code]
			out = append(out, e)
		}
	}
	return out
}

// registry is [All], made once: nothing changes it.
var registry = sync.OnceValue(All)

// Find is the entry of a code and its place in [All]; ok is false for a code that this
// version does not know.
func Find(code string) (e Entry, place int, ok bool) {
	all := registry()
	i := slices.IndexFunc(all, func(e Entry) bool { return string(e.Code) == code })
	if i < 0 {
		return Entry{}, len(all), false
	}
	return all[i], i, true
}

// causes lists the warnings of which others are consequences.
func causes() map[Code][]Code {
	return map[Code][]Code{
		CPUPressure:     {FewCores, SMT, CPUQuota},
		OneCPU:          {FewCores},
		BusyMachine:     {FewCores, BusyTurns, OthersNow},
		MemoryPressure:  {MemoryLimit},
		Swapping:        {MemoryLimit, MemoryPressure},
		OOMKill:         {MemoryLimit, MemoryPressure},
		ConntrackFilled: {ConntrackFull},
		HostFiltered:    {BaselineFiltered},
	}
}
