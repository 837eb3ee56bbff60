// Package warning is the registry of the warnings of a run and the notes of its trials:
// their codes, how severe each is, when it is given, what it does to the result and what
// fixes it. The texts are those of docs/warnings.md and docs/tools.md; a test holds the
// pages to them.
package warning

// Code names a warning or a note in a run's files.
type Code string

// Severity is how far a reader may rely on what a warning is of.
type Severity int

// The severities, from the mildest.
const (
	Note   Severity = iota // good to know: what is shown stands
	Spread                 // figures spread more, or compare less than they seem to
	Bias                   // figures or verdicts are missing, or not to be relied on
)

// Entry is a warning of the registry.
type Entry struct {
	Code     Code
	Severity Severity
	When     string // what was seen
	Effect   string // what it does to the result; empty for notes of tools, whose text has it
	Fix      string
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
	SharedKernel       Code = "shared_kernel"
	WarmupNotVerified  Code = "warmup_not_verified"
	OtherRun           Code = "other_run"
	OneCPU             Code = "one_cpu"
	PlacementFree      Code = "placement_free"
	NotObserved        Code = "not_observed"
	NoCPUCost          Code = "no_cpu_bill"
	PilotFailed        Code = "pilot_failed"
	PilotUnsettled     Code = "pilot_unsettled"
	MaxTime            Code = "max_time"
	InvalidTrials      Code = "invalid_trials"
	StacksUnavailable  Code = "stacks_unavailable"
	StacksUnknown      Code = "stacks_unknown"
	StacksLost         Code = "stacks_lost"
	CostPassMissing    Code = "cost_pass_missing"
	LinkLimited        Code = "link_limited"
	UnderlaySaturated  Code = "underlay_saturated"
	CoreSaturated      Code = "core_saturated"
	BBRPaces           Code = "bbr_paces"
	BusyTurns          Code = "busy_turns"
	WorkloadFailed     Code = "workload_failed"
	LimitsSkipped      Code = "limits_skipped"
	MSSDiffers         Code = "mss_differs"
	MTUDiffers         Code = "mtu_differs"
	UDPFragments       Code = "udp_fragments"
	OffloadsDiffer     Code = "offloads_differ"
	SettingsDiffer     Code = "settings_differ"
	CongestionDiffers  Code = "congestion_differs"
	BuffersDiffer      Code = "buffers_differ"
	BaselineFiltered   Code = "baseline_filtered"
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
	GeneratorLimited   Code = "generator_limited"
	LossUnexplained    Code = "loss_unexplained"
	LostExchanges      Code = "lost_exchanges"
	OffloadUnavailable Code = "offload_unavailable"
	PortsExhausted     Code = "ports_exhausted"
	TimeWaitFull       Code = "time_wait_full"
	ThreadsNotSet      Code = "threads_not_set"
	BaselineMissing    Code = "baseline_missing"
	BeatsBaseline      Code = "beats_baseline"
	ControlDiffers     Code = "control_differs"
	ToolsDisagree      Code = "tools_disagree"
	TwoBands           Code = "two_bands"
	BadValue           Code = "bad_value"
	UnknownMetric      Code = "unknown_metric"
	TrialsMissing      Code = "trials_missing"
	StaleRun           Code = "stale_run"
	BetterAssumed      Code = "better_assumed"
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

// All lists the registry, in the order of the pages.
func All() []Entry {
	return []Entry{
		{FewCores, Spread,
			"fewer than 4 CPUs may be used",
			"both ends, packet work and `tare` share them: lower rates, more spread, and dear modes lose more",
			"a machine with 4 CPUs or more"},
		{SMT, Note,
			"4 CPUs or more, but threads of fewer than 4 cores",
			"threads of one core slow each other down",
			"a machine with 4 cores or more"},
		{PowersaveGovernor, Spread,
			"a CPU's frequency governor is powersave",
			"trials begin on slow CPUs; latency grows; CPU seconds of two modes are not alike",
			"`cpupower frequency-set -g performance`"},
		{NoConstantClock, Note,
			"the clock source takes a call into the kernel",
			"the generator reads the clock for every exchange: lower rates, longer round trips",
			"`tsc` as clock source, where the kernel trusts it"},
		{BusyMachine, Spread,
			"load average of the last minute above half the CPUs",
			"something else takes CPU: every figure spreads",
			"wait, or stop what runs"},
		{OthersNow, Spread,
			"only by `tare doctor`: within its second of looking, other programs, or the hypervisor, took more than the limit of a study's [rules](study.md#invalid-trials)",
			"trials that run alone would be ruled out; those in turns share it",
			"end what the text names; a quieter machine"},
		{StealNow, Spread,
			"only by `tare doctor`: within its second of looking, other programs, or the hypervisor, took more than the limit of a study's [rules](study.md#invalid-trials)",
			"trials that run alone would be ruled out; those in turns share it",
			"end what the text names; a quieter machine"},
		{CPUQuota, Spread,
			"a control group limits this process's CPU time",
			"rates show the limit; the longest round trips are its pauses",
			"no `--cpus`, `CPUQuota=` or pod limit"},
		{VirtualMachine, Note,
			"the CPU says that a hypervisor is below",
			"what CPUs, caches and wake-ups cost depends on the host and its other guests: ratios within a run hold for it, figures are not those of the bare machine",
			"a machine of its own; turns, as by default, help"},
		{InContainer, Note,
			"an engine's mark, or an overlay as root file system",
			"the engine's limits, seccomp filter and view of `/proc` hold for the ends, too",
			"run on the container's host"},
		{MitigationsOff, Note,
			"`mitigations=off` on the kernel's command line",
			"entering the kernel is cheaper than on most machines, and so is every mode",
			"boot without it"},
		{MemoryLimit, Spread,
			"a control group limits this process to less than 1 GiB of memory",
			"what sockets hold counts against it: small buffers, and processes ended at the end of it",
			"no `--memory`, `MemoryMax=` or pod limit"},
		{NUMASpans, Spread,
			"the CPUs that may be used are on several NUMA nodes",
			"rates depend on which node each end is put on: bands",
			"`numactl --cpunodebind=0 --membind=0 tare ...`"},
		{FakedProcStat, Bias,
			"something is mounted over `/proc/stat`",
			"the `machine` figures of trials are too low",
			"run on the container's host"},
		{BBRDefault, Note,
			"the system's congestion control is bbr",
			"`tare` sets cubic: its figures are not those of a program that keeps the default",
			"`sysctl -w net.ipv4.tcp_congestion_control=cubic`, or name bbr in the study"},
		{NoCubic, Bias,
			"the kernel shows no cubic",
			"trials fail if its module cannot be loaded either",
			"`modprobe tcp_cubic`, or `congestion_control: reno`"},
		{CubicRestricted, Bias,
			"cubic needs `CAP_NET_ADMIN` here",
			"an end without that right cannot set it, and its trials fail",
			"add cubic to `net.ipv4.tcp_allowed_congestion_control`"},
		{HostFiltered, Spread,
			"the stack has rules of a packet filter, as where Docker runs",
			"a baseline in it pays for them, and every mode beside it looks cheaper than it is",
			"a lab; no rules"},
		{ConntrackFilled, Spread,
			"its connection tracking is more than 80 % full",
			"with no room left new connections and flows are dropped: it looks like the mode's loss",
			"raise `net.netfilter.nf_conntrack_max`"},
		{Irqbalance, Spread,
			"it runs",
			"packet work moves between CPUs within a run",
			"stop it for the length of a run"},
		{DeviceOffloads, Spread,
			"a device with hardware behind it lacks segmentation, receive or checksum offload",
			"the kernel's packet work and not the wire sets the rate",
			"`ethtool -K`, where the hardware can"},
		{SharedKernel, Note,
			"always, in the lab, and with one existing engine",
			"the ratios hold for the path through the kernel, not for a wire",
			"nothing: it is what a lab is"},
		{WarmupNotVerified, Spread,
			"no pilot trials, as in the quick profile",
			"a mode that settles slowly may be measured too early",
			"`--profile standard`"},
		{OtherRun, Note,
			"another run was under way at the start. One that starts later warns only in its own results",
			"the two disturb each other",
			"one run at a time"},
		{OneCPU, Note,
			"`two_cores` with one CPU to use",
			"both ends share it",
			"more CPUs, or `placement: one_core`"},
		{PlacementFree, Note,
			"a placement was asked for on engines of other machines, of whose CPUs nothing is known",
			"the ends run where the schedulers put them: more spread",
			"`placement: free`, which says so"},
		{NotObserved, Note,
			"a collector could not be read, or lost a figure; or other runs could not be looked for",
			"that figure is absent from `machine`",
			"what the text names"},
		{NoCPUCost, Spread,
			"what trials cost in CPU could not be told: CPU time or its baseline is unknown, or the trial's part is less than what the kernel's steps of 10 ms can show",
			"those trials have no CPU metrics; their other figures stand",
			"what the text says: a longer `settle`, longer trials, a quieter machine"},
		{PilotFailed, Spread,
			"its pilot trial failed, or was too short to say anything",
			"the warm-up is what the other modes needed, or the study's: this mode may be measured too early",
			"what the text says"},
		{PilotUnsettled, Spread,
			"its pilot trial came to no steady state",
			"what trials show of it depends on how long they are",
			"a quieter machine, a longer `pilot` and `duration`"},
		{MaxTime, Note,
			"the next block would have ended after `max_time`, or, of a run that ends by itself, after the time announced",
			"fewer blocks: wider intervals. The status is `complete`",
			"more time, or fewer modes"},
		{InvalidTrials, Bias,
			"trials were ruled out by the study's rules (`invalid`)",
			"their sets were run again at the end; what was ruled out twice is missing. With more than `most` of the trials every verdict is `cannot_tell` and the exit code 4",
			"what the text names: end what else runs, or set the limits"},
		{StacksUnavailable, Note,
			"stacks could not be sampled: no right, no perf events, the kernel's names hidden, the ends elsewhere; or those of one trial were lost",
			"there is no [breakdown](breakdown.md) of the CPU cost, or one trial less in it",
			"what the text names: root or CAP_PERFMON, `kernel.kptr_restrict`"},
		{StacksUnknown, Note,
			"no rule knows more than 15 % of the sampled stacks",
			"the components of the breakdown are too small by that",
			"tell us, with the folded stacks of the run's directory"},
		{StacksLost, Note,
			"more than 5 % of the samples were lost",
			"the breakdown is of what the machine had time to sample",
			"a machine with less to do beside"},
		{CostPassMissing, Note,
			"no trial showed how fast the slowest mode is, or the run has no block for the pass",
			"nothing is driven at one rate: CPU use at different rates is not to be compared",
			"what the failed trials name; or a `rate` of the study's under `cost_pass`"},
		{LinkLimited, Spread,
			"every mode that crosses the underlay reached 97 % or more of the payload that fits through its rate limit",
			"their goodput does not tell them apart: their CPU cost does",
			"a faster underlay, or none of the study's"},
		{UnderlaySaturated, Spread,
			"the mode reached 97 % or more of the payload that the lab's `rate` carries, and another did not",
			"on a faster underlay it might be faster: what it costs beside the others is understated",
			"a faster underlay; compare the CPU cost"},
		{CoreSaturated, Spread,
			"in its trials a CPU was busy for 95 % of the time or more: with a rate to keep to, or while in another mode's every CPU had 10 % to spare",
			"with a rate: delays and losses are those of a CPU's queue. Without: the CPU set this mode's figure, and something else the other's",
			"a lower rate; compare the CPU cost; more CPUs"},
		{BBRPaces, Spread,
			"the congestion control of a connection was bbr",
			"it sends by a timer of its own, which on a path through one kernel sets the goodput before the path does: what a mode costs is hidden",
			"`congestion_control: cubic`"},
		{BusyTurns, Spread,
			"while modes took turns, others took more of the CPUs than the limit for trials that run alone",
			"the modes shared it, so ratios stand; each mode's own figures are lower than on a quiet machine, and spread more",
			"a quieter machine"},
		{WorkloadFailed, Bias,
			"the workload's trial failed twice in a block and is not tried again",
			"fewer blocks for it, or no figure; the mode's other workloads go on",
			"what the text says"},
		{LimitsSkipped, Note,
			"the study limits its sandboxes, and some modes have none that an engine makes",
			"a limited mode's ratio to an unlimited baseline holds the price of the limit, too",
			"compare limited modes with each other, under `compare`"},
		{MSSDiffers, Spread,
			"in a bulk transfer, its segments have another size than its baseline's, in the first good trial of each",
			"part of the cost is the MTU: real, but not the mode's own work",
			"nothing, or a larger `lab.mtu`"},
		{MTUDiffers, Spread,
			"the smallest MTU on its path is another than its baseline's, and no `mss_differs` says so",
			"what takes several packets takes more of them, or fewer: real, but not the mode's work on a packet",
			"nothing, or a larger `lab.mtu`"},
		{UDPFragments, Spread,
			"a datagram with its headers is larger than the smallest MTU on the path",
			"each crosses it in pieces, and is lost with any of them: more packets, more CPU, more loss",
			"a smaller `payload_size`: the text says which"},
		{OffloadsDiffer, Spread,
			"a device of its path lacks segmentation or checksum offload (`tso`, `gso`, `tx-checksum`), and every device of its baseline's has it",
			"the kernel does in software, packet by packet, what the baseline leaves for later",
			"the same offloads on both, or `lab: {offload: off}`"},
		{SettingsDiffer, Spread,
			"the network stacks of its ends are set otherwise than those of its baseline: buffers, congestion control, SACK, timestamps and their like",
			"what a socket is given differs, and with it the figures: not the mode's work",
			"the same values on both: the text has them"},
		{CongestionDiffers, Spread,
			"the study leaves the congestion control to each stack, and it was another than the baseline's",
			"part of the difference is the algorithm",
			"`congestion_control` in the study"},
		{BuffersDiffer, Spread,
			"a socket buffer of a fixed size was granted otherwise than to the baseline",
			"part of the difference is the buffer",
			"a smaller buffer, or the same limits in both stacks"},
		{BaselineFiltered, Spread,
			"a network stack on a baseline's path has rules of a packet filter, as where Docker runs",
			"the baseline pays for them, and every mode beside it looks cheaper than it is",
			"a baseline in a stack of its own (`host`, in the lab), or no rules"},
		{EmulatedCPU, Spread,
			"a program emulates the CPU of a part of its path, such as a virtual machine's where KVM does not work",
			"its rates and its CPU cost are those of the emulator",
			"a machine where KVM works"},
		{BridgeNetfilter, Spread,
			"a stack with a bridge of its path hands bridged frames to the packet filter (`br_netfilter`)",
			"part of its cost is that, which a machine without it does not pay",
			"`sysctl -w net.bridge.bridge-nf-call-iptables=0` there"},
		{MemoryPressure, Spread,
			"in trials that count programs waited for memory for more than 1 % of the time, or a control group's limit on memory stood in the way, or less than 128 MiB were available",
			"the kernel keeps socket buffers small and frees memory in the middle of things: lower rates, more spread",
			"end what uses the memory; a higher limit; a larger machine"},
		{Swapping, Spread,
			"in trials that count more than 1 MiB was swapped",
			"who is swapped out answers late: the longest round trips",
			"as above"},
		{OOMKill, Bias,
			"in trials that count the kernel ended processes for lack of memory. A container of the run that is ended so makes its trial fail",
			"the machine was short of memory",
			"as above"},
		{CPUPressure, Spread,
			"in half of its trials or more programs that could run waited for a CPU for more than 25 % of the time, unless both ends share one because the study says so",
			"ends, packet work and others compete: rates show what the CPUs allow, and a mode that needs more loses more",
			"fewer streams or threads; more CPUs"},
		{ConntrackFull, Spread,
			"a trial ended with the connection tracking of a stack on its path more than 90 % full",
			"with no room left, new connections and flows are dropped",
			"raise `net.netfilter.nf_conntrack_max`"},
		{CongestionControl, Bias,
			"the client's kernel reports another than was asked for",
			"the mode is not compared like with like",
			"a kernel that has it"},
		{BufferClamped, Spread,
			"the kernel granted a smaller buffer than was asked for",
			"the same in every mode, but not what the study says",
			"raise `net.core.wmem_max` or `rmem_max`, or run as root"},
		{SearchAtLeast, Spread,
			"a rate search found no load too high: the sender reached no more, or `max_rate` was within the goal",
			"the rate is a lower bound (`at_least`), as below",
			"a higher `max_rate`; more CPUs; [udp_search](workloads/udp_search.md) says why a lab without a rate limit often ends so"},
		{SearchNoResult, Bias,
			"a rate search found no load within the goal",
			"the trial has no figure for that goal, which is not 0",
			"a lower `min_rate`; a goal with more loss"},
		{SearchUnfinished, Spread,
			"a rate search ended at `max_search`, with bounds farther apart than `precision`",
			"the rate is the lower bound so far",
			"a longer `max_search`; a quieter machine"},
		{LossInversion, Spread,
			"a load above one that lost too much looked good",
			"the answer is the one below, the cautious one",
			"longer steps; a quieter machine"},
		{GeneratorLimited, Bias,
			"the generator could not keep to its schedule",
			"the rate is a lower bound (`at_least`): the verdicts `same` and `small` become `cannot_tell`",
			"a lower rate, fewer flows, more CPUs"},
		{LossUnexplained, Note,
			"more than 1 % of a trial's lost datagrams, and at least 10, were seen to die by no counter",
			"nothing: it is said how many, and [where the others died](loss.md)",
			"the kernel's drop reasons: `evidence: {drops: on}`, as root"},
		{LostExchanges, Spread,
			"`udp_rr`: a request or its response did not arrive in time",
			"the round trips are those of the others; `loss_ratio` has the share",
			"a quieter machine, larger buffers"},
		{OffloadUnavailable, Spread,
			"UDP segmentation was asked for, and the path has none",
			"datagrams were sent one by one: compare with no mode that had it",
			"`offload: off`"},
		{PortsExhausted, Spread,
			"`tcp_crr`: there was no free source port for a while, or the search for one took long",
			"the time without a port is left out of the rate; a long search lowers it",
			"what the text names"},
		{TimeWaitFull, Spread,
			"the kernel's table of closing connections was full",
			"connections were closed without TIME_WAIT, which is cheaper",
			"raise `net.ipv4.tcp_max_tw_buckets`"},
		{ThreadsNotSet, Spread,
			"`tcp_stream`: this end cannot bind streams to threads",
			"it used as many as it liked",
			"leave `threads` out"},
		{BaselineMissing, Bias,
			"the baseline is not in the run, not measured, or has no good trial",
			"no ratio; the verdict is `cannot_tell`",
			"mend the baseline: the text has its reason"},
		{BeatsBaseline, Bias,
			"the verdict on the workload's main metric is `better`",
			"a longer path should not be: the verdict stands, doubt it",
			"check counters, MTU, buffers and placement"},
		{ControlDiffers, Bias,
			"the verdict on the control, which is the baseline once more, is `worse` or `better`",
			"something other than the mode tells trials apart: believe no difference of that size. In 5 of 100 runs it is chance",
			"a quieter machine, more blocks"},
		{ToolsDisagree, Bias,
			"with `verify_with`: the cost of the mode by the two tools differs, by more than the margin",
			"one of the two measures a limit of its own: believe neither yet",
			"the same settings for both; more CPUs"},
		{TwoBands, Bias,
			"the trials of the main metric fall into two groups: at least 2 in each, 20 % apart, and the gap 3 times the wider group",
			"the mean stands for neither",
			"read the single trials; pin, or bound buffers"},
		{BadValue, Bias,
			"a trial holds a negative or non-finite value",
			"that value is left out",
			"it comes from a file that was changed"},
		{UnknownMetric, Bias,
			"a trial holds a metric that this version does not know",
			"its values are left out",
			"the version that wrote it"},
		{TrialsMissing, Bias,
			"`trials.ndjson` holds fewer trials than `run.json` counts. Told when the run is read",
			"the figures rest on trials that are not shown",
			"the whole file, from where the run was made"},
		{StaleRun, Bias,
			"`trials.ndjson` holds more trials than `run.json` counts. Told when the run is read",
			"the cells lack those trials; the run counts as interrupted",
			"`tare run --resume DIR`"},
		{BetterAssumed, Bias,
			"nothing says whether more or less of a metric is better",
			"higher is taken: `worse` and `better` may be the wrong way round",
			"a column `better`, a unit, or `--better`"},
		{DecimalComma, Note,
			"a comma in a value was read as a decimal point",
			"if it parted thousands, the value is wrong",
			"a decimal point"},
		{MissingBlock, Bias,
			"a block has a value of the mode or of its baseline, and none of the other",
			"the value is left out of the pair",
			"the missing value"},
		{MissingValue, Bias,
			"rows without a value",
			"they are left out",
			"the values"},
		{OneValue, Bias,
			"there is one value alone",
			"no interval, no verdict",
			"more values"},
		{UnknownColumn, Note,
			"a column has a name that is not known",
			"it is not used",
			"a name of [the table](judge.md#a-table)"},
		{ZeroValue, Note,
			"values of 0, of a metric that is not one of `tare`'s counts and shares",
			"no ratio, and so no verdict, where one is part of it",
			"nothing, if they are right"},
		{ToolSays, Note,
			"the tool wrote to its standard error; its first line",
			"",
			""},
		{ToolPacing, Note,
			"a version that paces unevenly, or has one thread",
			"",
			""},
		{ToolOneThread, Note,
			"a version that paces unevenly, or has one thread",
			"",
			""},
		{ToolLossCount, Bias,
			"the tool's own count cannot be, and is not used",
			"",
			""},
		{ToolPhantomLoss, Bias,
			"the tool's own count cannot be, and is not used",
			"",
			""},
		{TailLoss, Spread,
			"datagrams were lost, or still queued, at the end",
			"",
			""},
		{ToolWholeTrial, Note,
			"loss is of the whole trial",
			"",
			""},
		{ToolNoLoss, Spread,
			"loss is not known",
			"",
			""},
		{ToolBuffers, Spread,
			"other buffers than were asked for",
			"",
			""},
		{ToolIgnored, Note,
			"a parameter that the tool does not know",
			"",
			""},
		{ToolVersions, Note,
			"the ends run different versions of a tool other than iperf3",
			"",
			""},
	}
}
