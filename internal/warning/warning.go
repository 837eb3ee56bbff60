// Package warning is the registry of the warnings of a run and of the notes of its trials:
// their codes, how severe each is, when it is given, what it does to the result and how to
// fix it. The texts are those of docs/warnings.md and docs/tools.md; a test keeps the pages
// and the registry the same.
package warning

import "slices"

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

// The sections, in the order of the page. Those of [Machine] and [Existing] are known
// before a run, and tare doctor lists them. The notes of [Tools] are in docs/tools.md.
const (
	Verdicts Section = "The verdicts"
	Traffic  Section = "The traffic"
	Run      Section = "The run"
	Machine  Section = "The machine"
	Existing Section = "The host of an existing engine"
	Foreign  Section = "Numbers from elsewhere"
	Tools    Section = "External tools"
)

// Entry is a warning of the registry.
type Entry struct {
	Code     Code
	Severity Severity
	Section  Section
	Scope    string // what the scope of such a warning names: "run", or words of "mode workload metric"

	// Short is the warning in one line of at most 80 columns. Braces enclose the part that
	// is replaced by the value of a warning where its text matches the regular expression
	// Seen: by Say, in which $1 is the first submatch.
	Short, Seen, Say string

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

// All lists the registry in the order of docs/warnings.md, which is that of importance.
func All() []Entry {
	var out []Entry
	for _, part := range []struct {
		section Section
		entries []Entry
	}{
		{Verdicts, verdicts()}, {Traffic, traffic()}, {Run, run()}, {Machine, machine()}, {Existing, existing()}, {Foreign, foreign()}, {Tools, tools()},
	} {
		for _, e := range part.entries {
			e.Section, e.Causes = part.section, causes[e.Code]
			out = append(out, e)
		}
	}
	return out
}

// Find is the entry of a code and its place in [All]; ok is false for a code that this
// version does not know.
func Find(code string) (e Entry, place int, ok bool) {
	all := All()
	i := slices.IndexFunc(all, func(e Entry) bool { return string(e.Code) == code })
	if i < 0 {
		return Entry{}, len(all), false
	}
	return all[i], i, true
}

var causes = map[Code][]Code{
	CPUPressure:     {FewCores, SMT, CPUQuota},
	OneCPU:          {FewCores},
	BusyMachine:     {FewCores, BusyTurns, OthersNow},
	MemoryPressure:  {MemoryLimit},
	Swapping:        {MemoryLimit, MemoryPressure},
	OOMKill:         {MemoryLimit, MemoryPressure},
	ConntrackFilled: {ConntrackFull},
	HostFiltered:    {BaselineFiltered},
}

// verdicts are the warnings about cells and about the run's own files.
func verdicts() []Entry {
	return []Entry{
		{Code: BaselineMissing, Severity: Bias, Scope: "mode workload",
			Short:  "the baseline has no valid trial: no ratio, no verdict",
			When:   "the baseline is not in the run, was not measured, or has no valid trial",
			Effect: "there is no ratio, and the verdict is `cannot_tell`",
			Fix:    "fix the baseline: the text has the reason"},
		{Code: ControlDiffers, Severity: Bias, Scope: "mode workload metric",
			Short: "the A/A control {differs from its baseline}: doubt differences of this size",
			Seen:  `\(([\d.e+-]+) times its (\S+?)\)`, Say: "is $1 times its baseline's $2",
			When:   "the verdict on the A/A control, which is a second copy of the baseline, is `worse` or `better`",
			Effect: "something other than the mode causes differences of this size. In 5 of 100 runs it is chance",
			Fix:    "a quieter machine, more blocks"},
		{Code: BeatsBaseline, Severity: Bias, Scope: "mode workload metric",
			Short: "{better than the baseline}, which a longer path should not be: doubt it",
			Seen:  `\(([\d.e+-]+) times its (\S+?)\)`, Say: "$1 times the baseline's $2",
			When:   "the verdict on the workload's main metric is `better`",
			Effect: "a longer path should not be faster: the verdict does not change, but doubt it",
			Fix:    "check path counters, MTU, offloads, buffers and CPU placement"},
		{Code: ToolsDisagree, Severity: Bias, Scope: "mode workload metric",
			Short:  "the two traffic generators disagree on the cost by more than the margin",
			When:   "with `verify_with`: the cost of the mode differs between the two traffic generators by more than the margin",
			Effect: "one of the two measures a limit of its own: rely on neither until it is known which",
			Fix:    "the same settings for both; more CPUs"},
		{Code: TwoBands, Severity: Bias, Scope: "mode workload metric",
			Short: "{two bands of results}: the mean describes neither",
			Seen:  `(\d+) (blocks|values) near ([^,]+), (\d+) near ([^:;)]+)`, Say: "$1 $2 near $3, $4 near $5",
			When:   "in 10 blocks or more, the ratios of the main metric to the baseline form two groups: at least 2 in each, 20 % apart, and the gap 3 times the wider group. A baseline gets the warning only if its own values form two groups and the ratios of every mode compared with it do, too",
			Effect: "the mean describes neither group",
			Fix:    "look at the single trials; pin CPUs, or set buffers to a fixed size"},
		{Code: BadValue, Severity: Bias, Scope: "mode workload metric",
			Short: "{some} values are negative or not finite, and left out",
			Seen:  `\d+$|^\d+`, Say: "$0",
			When:   "a trial has a negative or non-finite value",
			Effect: "that value is left out",
			Fix:    "restore the file: it was changed"},
		{Code: TrialsMissing, Severity: Bias, Scope: "run",
			Short:  "trials.ndjson has fewer trials than run.json counts",
			When:   "`trials.ndjson` has fewer trials than `run.json` counts. Reported when the run is read",
			Effect: "the results include trials that are not in the file",
			Fix:    "copy the whole file again from where the run was made"},
		{Code: StaleRun, Severity: Bias, Scope: "run",
			Short:  "trials.ndjson has more trials than run.json counts: the run was killed",
			When:   "`trials.ndjson` has more trials than `run.json` counts. Reported when the run is read",
			Effect: "the results lack those trials, and the run counts as interrupted",
			Fix:    "`tare run --resume DIR`"},
		{Code: UnknownMetric, Severity: Note, Scope: "run",
			Short:  "a metric that this version of tare does not know is left out",
			When:   "a trial has a metric that this version does not know",
			Effect: "its values are left out",
			Fix:    "read the run with the version that wrote it"},
	}
}

// traffic are the notes of trials.
func traffic() []Entry {
	return []Entry{
		{Code: GeneratorLimited, Severity: Bias, Scope: "mode workload",
			Short:  "the generator did not keep its schedule: rates are lower bounds",
			When:   "the generator could not keep its schedule",
			Effect: "the rate is a lower bound (`at_least`): the verdicts `same` and `small` become `cannot_tell`",
			Fix:    "a lower rate, fewer flows, more CPUs"},
		{Code: SearchNoResult, Severity: Bias, Scope: "mode workload",
			Short:  "a rate search found no rate within its loss goal: no value",
			When:   "a rate search found no rate within the goal",
			Effect: "the trial has no value for that goal, which is not the same as 0",
			Fix:    "a lower `min_rate`; a goal that allows more loss"},
		{Code: SearchAtLeast, Severity: Bias, Scope: "mode workload",
			Short:  "a rate search reached its highest load without too much loss: lower bound",
			When:   "a rate search found no rate that is too high: the sender reached no more, or `max_rate` was within the goal",
			Effect: "the rate is a lower bound (`at_least`), as for `generator_limited`",
			Fix:    "a higher `max_rate`; more CPUs; see [udp_search](workloads/udp_search.md) for why a lab without a rate limit often ends this way"},
		{Code: SearchUnfinished, Severity: Bias, Scope: "mode workload",
			Short:  "a rate search ran out of time: the rate is the highest confirmed so far",
			When:   "a rate search ended at `max_search` with bounds farther apart than `precision`",
			Effect: "the rate is the lower bound found so far",
			Fix:    "a longer `max_search`; a quieter machine"},
		{Code: LostExchanges, Severity: Bias, Scope: "mode workload",
			Short:  "lost requests or responses: round trips are those of the others",
			When:   "`udp_rr`: a request or its response did not arrive in time",
			Effect: "the round trips are those of the other exchanges; `loss_ratio` has the lost share",
			Fix:    "a quieter machine, larger buffers"},
		{Code: OffloadUnavailable, Severity: Bias, Scope: "mode workload",
			Short:  "no UDP segmentation on the path: not comparable with modes that have it",
			When:   "UDP segmentation was requested, and the path does not support it",
			Effect: "datagrams were sent one at a time: do not compare with a mode that had it",
			Fix:    "`offload: off`"},
		{Code: PortsExhausted, Severity: Bias, Scope: "mode workload",
			Short:  "source ports ran out, or nearly: the connection rate is affected",
			When:   "`tcp_crr`: no source port was free for a while, or the search for one took long",
			Effect: "the time without a port is left out of the rate; a long search lowers the rate",
			Fix:    "what the text names"},
		{Code: TimeWaitFull, Severity: Bias, Scope: "mode workload",
			Short:  "the TIME_WAIT table was full: connections were cheaper to close",
			When:   "the kernel's table of connections in TIME_WAIT was full",
			Effect: "connections were closed without TIME_WAIT, which costs less",
			Fix:    "raise `net.ipv4.tcp_max_tw_buckets`"},
		{Code: LossInversion, Severity: Spread, Scope: "mode workload",
			Short:  "a rate search passed at a higher load than one that failed: noise",
			When:   "a rate search passed at a load above one that lost too much",
			Effect: "the result is the rate below the failed load",
			Fix:    "longer steps; a quieter machine"},
		{Code: LossUnexplained, Severity: Note, Scope: "mode workload",
			Short: "no counter shows where {some} lost datagrams were dropped",
			Seen:  `[\d.]+ %`, Say: "$0",
			When:   "no counter shows where more than 1 % of a trial's lost datagrams, and at least 10, were dropped",
			Effect: "none on the result: [the loss table](loss.md) has a row for them",
			Fix:    "the kernel's drop reasons: `evidence: {drops: on}`, as root"},
		{Code: ThreadsNotSet, Severity: Note, Scope: "mode workload",
			Short:  "the study's threads setting has no effect on this client or server",
			When:   "`tcp_stream`: this client or server cannot bind streams to threads",
			Effect: "it uses as many threads as the Go runtime starts",
			Fix:    "leave out `threads`"},
	}
}

// run are the warnings about the run as a whole and about the paths of modes.
func run() []Entry {
	return []Entry{
		{Code: WorkloadFailed, Severity: Bias, Scope: "mode workload",
			Short:  "a trial failed twice in a block: results are missing",
			When:   "the workload's trial failed twice in a block and is not repeated",
			Effect: "it has fewer blocks, or no result; the mode's other workloads continue",
			Fix:    "what the text names"},
		{Code: CongestionControl, Severity: Bias, Scope: "mode",
			Short: "congestion control {is not what the study asks for}: not comparable",
			Seen:  `(?:was|is) (\S+, not \S+)`, Say: "is $1",
			When:   "the client's kernel reports another congestion control than the study asks for",
			Effect: "the mode is not comparable with the others",
			Fix:    "a kernel that has it"},
		{Code: PilotUnsettled, Severity: Bias, Scope: "mode workload",
			Short:  "the pilot trial did not reach a steady state: results depend on trial length",
			When:   "its pilot trial did not reach a steady state",
			Effect: "results depend on how long trials are",
			Fix:    "a quieter machine, a longer `pilot` and `duration`"},
		{Code: PilotFailed, Severity: Bias, Scope: "mode",
			Short:  "the pilot trial failed: the warm-up may be too short",
			When:   "its pilot trial failed, or was too short",
			Effect: "the warm-up is what the other modes needed, or that of the study: this mode may be measured before it is steady",
			Fix:    "what the text names"},
		{Code: LinkLimited, Severity: Bias, Scope: "workload",
			Short:  "every mode fills the underlay's rate limit: compare CPU cost, not goodput",
			When:   "every mode that crosses the underlay reached 97 % or more of the payload that fits through its rate limit",
			Effect: "their goodput shows the rate limit; their CPU cost shows the difference",
			Fix:    "a higher `rate` of the underlay, or none"},
		{Code: UnderlaySaturated, Severity: Bias, Scope: "mode workload",
			Short:  "this mode fills the underlay and another does not: its advantage is understated",
			When:   "the mode reached 97 % or more of the payload that the lab's `rate` carries, and another did not",
			Effect: "it might be faster on a faster underlay: its difference from other modes is understated",
			Fix:    "a faster underlay; compare the CPU cost"},
		{Code: CoreSaturated, Severity: Bias, Scope: "mode workload",
			Short: "a CPU was {fully} busy: the CPU limits the result, not the network path",
			Seen:  `[\d.]+ %`, Say: "$0",
			When:   "in its trials a CPU was busy for 95 % of the time or more: at a fixed rate, or while in another mode's trials every CPU had 10 % to spare",
			Effect: "at a fixed rate, delay and loss include the queue for the CPU. Otherwise the CPU limits this mode, and something else limits the other",
			Fix:    "a lower rate; compare the CPU cost; more CPUs"},
		{Code: BBRPaces, Severity: Bias, Scope: "workload",
			Short:  "bbr paces by its own timer, which hides what a mode costs",
			When:   "the congestion control of a connection was bbr",
			Effect: "bbr paces by its own timer. On a path through one kernel the timer limits the goodput before the path does, which hides what a mode costs",
			Fix:    "`congestion_control: cubic`"},
		{Code: OffloadsDiffer, Severity: Bias, Scope: "mode",
			Short: "lacks {an offload} that the baseline has: the kernel does it in software",
			Seen:  `(?:has no|lacks) (\S+?),? `, Say: "$1",
			When:   "a device on its path lacks segmentation or checksum offload (`tso`, `gso`, `tx-checksum`), and every device of its baseline has it",
			Effect: "the kernel does in software, packet by packet, what the baseline leaves to the last device",
			Fix:    "the same offloads on both, or `lab: {offload: off}`"},
		{Code: SettingsDiffer, Severity: Bias, Scope: "mode",
			Short:  "network settings differ from the baseline's: not all of the cost is the mode's",
			When:   "the network stacks of client and server have other settings than those of its baseline: buffers, congestion control, SACK, timestamps and the like",
			Effect: "sockets get other settings, which changes the result: not the mode's own cost",
			Fix:    "the same values on both: the text lists them"},
		{Code: CongestionDiffers, Severity: Bias, Scope: "mode workload",
			Short:  "another congestion control than the baseline's: part of the difference",
			When:   "the study leaves congestion control to each stack, and it was not the baseline's",
			Effect: "part of the difference is the algorithm",
			Fix:    "`congestion_control` in the study"},
		{Code: BuffersDiffer, Severity: Bias, Scope: "mode workload",
			Short:  "another socket buffer than the baseline's: part of the difference",
			When:   "the kernel granted a fixed-size socket buffer of another size than the baseline's",
			Effect: "part of the difference is the buffer",
			Fix:    "a smaller buffer, or the same limits in both stacks"},
		{Code: BaselineFiltered, Severity: Bias, Scope: "mode",
			Short:  "a packet filter on the baseline's path: other modes look cheaper than they are",
			When:   "a network stack on a baseline's path has packet filter rules, as where Docker runs",
			Effect: "the baseline pays for the rules, so every other mode looks cheaper than it is",
			Fix:    "a baseline in a network namespace of its own (`host`, in the lab), or no rules"},
		{Code: MSSDiffers, Severity: Bias, Scope: "mode workload",
			Short: "the segment size {differs from the baseline's}: part of the cost is the MTU",
			Seen:  `carry (\d+) bytes here and (\d+) in (\S+?):`, Say: "is $1 bytes ($2 in $3)",
			When:   "in a bulk transfer, its segments have another size than its baseline's, in the first valid trial of each",
			Effect: "part of the cost is the MTU: real in use, but not the mode's cost per packet",
			Fix:    "none needed, or a larger `lab.mtu`"},
		{Code: MTUDiffers, Severity: Bias, Scope: "mode",
			Short: "the MTU {differs from the baseline's}: part of the cost is the packet count",
			Seen:  `MTU on the path is (\d+) bytes.*? and (\d+) in (\S+?):`, Say: "is $1 bytes ($2 in $3)",
			When:   "the smallest MTU on its path differs from its baseline's, and there is no `mss_differs`",
			Effect: "payload that needs several packets needs more of them, or fewer: real in use, but not the mode's cost per packet",
			Fix:    "none needed, or a larger `lab.mtu`"},
		{Code: UDPFragments, Severity: Bias, Scope: "mode workload",
			Short:  "datagrams are fragmented: more packets, more CPU, more loss",
			When:   "a datagram with its headers is larger than the smallest MTU on the path",
			Effect: "each is fragmented, and is lost with any of its fragments: more packets, more CPU, more loss",
			Fix:    "a smaller `payload_size`: the text says which"},
		{Code: EmulatedCPU, Severity: Bias, Scope: "mode",
			Short:  "the CPU of a part of the path is emulated: cost is that of the emulator",
			When:   "a program emulates the CPU of a part of its path, such as a virtual machine's where KVM does not work",
			Effect: "its rates and its CPU cost are those of the emulator",
			Fix:    "a machine where KVM works"},
		{Code: BridgeNetfilter, Severity: Bias, Scope: "mode",
			Short:  "br_netfilter is on: part of the cost is filtering of bridged frames",
			When:   "a bridge on its path passes bridged frames to the packet filter (`br_netfilter`)",
			Effect: "part of its cost is the filtering, which a machine without `br_netfilter` does not have",
			Fix:    "`sysctl -w net.bridge.bridge-nf-call-iptables=0` there"},
		{Code: LimitsSkipped, Severity: Bias, Scope: "run",
			Short:  "the study's limits do not apply to every mode: compare limited modes only",
			When:   "the study limits its sandboxes, and no engine makes those of some modes",
			Effect: "the ratio of a limited mode to an unlimited baseline includes the cost of the limit",
			Fix:    "compare limited modes with each other, under `compare`"},
		{Code: ConntrackFull, Severity: Bias, Scope: "mode workload",
			Short: "connection tracking was {nearly} full: new connections are dropped",
			Seen:  `[\d.]+ %`, Say: "$0",
			When:   "a trial ended with the connection tracking table of a stack on its path more than 90 % full",
			Effect: "when the table is full, new connections and flows are dropped",
			Fix:    "raise `net.netfilter.nf_conntrack_max`"},
		{Code: InvalidTrials, Severity: Spread, Scope: "run",
			Short: "{some} trials were invalid and repeated, or are missing: intervals wider",
			Seen:  `^\d+ of \d+`, Say: "$0",
			When:   "trials were invalid by the study's rules (`invalid`)",
			Effect: "their groups were repeated at the end; those invalid twice are missing. If more than `most` of the trials are invalid, every verdict is `cannot_tell` and the exit code is 4",
			Fix:    "what the text names: stop other programs, or change the limits"},
		{Code: BusyTurns, Severity: Spread, Scope: "run",
			Short: "others used up to {much} of a CPU during trials: rates lower, spread wider",
			Seen:  `up to ([\d.]+ %)`, Say: "$1",
			When:   "while modes were interleaved, others used more CPU than the limit for trials that run alone",
			Effect: "all modes shared it, so ratios are valid; the values of each mode are lower than on a quiet machine, and vary more",
			Fix:    "a quieter machine"},
		{Code: MaxTime, Severity: Spread, Scope: "run",
			Short:  "stopped at the time limit: fewer blocks, intervals wider",
			When:   "the next block would have ended after `max_time`, or, in a run that chooses its length, after the time announced",
			Effect: "fewer blocks, so wider intervals. The status is `complete`",
			Fix:    "more time, or fewer modes"},
		{Code: WarmupNotVerified, Severity: Spread, Scope: "run",
			Short:  "no pilot trials: whether each mode was steady is not verified",
			When:   "no pilot trials, as in the quick profile",
			Effect: "a mode that is slow to reach a steady state may be measured too early",
			Fix:    "`--profile standard`"},
		{Code: OtherRun, Severity: Spread, Scope: "run",
			Short:  "another run was in progress: the two disturb each other",
			When:   "another run was in progress at the start. Only the run that starts later has the warning",
			Effect: "the two disturb each other",
			Fix:    "one run at a time"},
		{Code: CPUPressure, Severity: Spread, Scope: "workload",
			Short: "programs waited for a CPU {much} of the time: rates show what the CPUs allow",
			Seen:  `[\d.]+ %`, Say: "$0",
			When:   "in half of its trials or more, runnable programs waited for a CPU for more than 25 % of the time, unless the study puts client and server on one CPU",
			Effect: "client, server, packet processing and other programs compete: rates show what the CPUs allow, and expensive modes lose more",
			Fix:    "fewer streams or threads; more CPUs"},
		{Code: MemoryPressure, Severity: Spread, Scope: "run",
			Short:  "memory was short: rates lower, spread wider",
			When:   "in valid trials, programs waited for memory for more than 1 % of the time, or a control group reached its memory limit, or less than 128 MiB were available",
			Effect: "the kernel keeps socket buffers small and reclaims memory during trials: rates are lower and vary more",
			Fix:    "stop what uses the memory; a higher limit; a larger machine"},
		{Code: Swapping, Severity: Spread, Scope: "run",
			Short:  "memory was swapped: the longest round trips are those of swapping",
			When:   "in valid trials, more than 1 MiB was swapped",
			Effect: "a program that is swapped out answers late: the longest round trips",
			Fix:    "stop what uses the memory; a larger machine"},
		{Code: OOMKill, Severity: Spread, Scope: "run",
			Short:  "the kernel killed processes for lack of memory: memory was short",
			When:   "in valid trials, the kernel killed processes for lack of memory. If it kills a container of the run, that trial fails",
			Effect: "memory was short, as for `memory_pressure`",
			Fix:    "stop what uses the memory; a larger machine"},
		{Code: OneCPU, Severity: Spread, Scope: "workload",
			Short:  "one CPU: client and server share it",
			When:   "`two_cores` on a machine with one CPU",
			Effect: "client and server share it",
			Fix:    "more CPUs, or `placement: one_core`"},
		{Code: PlacementFree, Severity: Spread, Scope: "workload",
			Short:  "client and server are not pinned to CPUs: spread wider",
			When:   "the study asks for a placement on engines of other machines, whose CPUs are not known",
			Effect: "the schedulers place client and server: results vary more",
			Fix:    "`placement: free`, which says so"},
		{Code: SharedKernel, Severity: Note, Scope: "run",
			Short:  "both hosts share one kernel: ratios are for the kernel path, not for a wire",
			When:   "always in the lab, and with one existing engine",
			Effect: "the ratios are valid for the path through the kernel, not for a wire",
			Fix:    "none: a lab is made this way"},
		{Code: BufferClamped, Severity: Note, Scope: "workload",
			Short:  "the kernel granted a smaller socket buffer than the study asks for",
			When:   "the kernel granted a smaller buffer than requested",
			Effect: "the same in every mode, but not what the study says",
			Fix:    "raise `net.core.wmem_max` or `rmem_max`, or run as root"},
		{Code: NotObserved, Severity: Note, Scope: "run",
			Short:  "some metrics of the machine could not be read",
			When:   "a collector failed or lost a value; or tare could not look for other runs",
			Effect: "that value is absent from `machine`",
			Fix:    "what the text names"},
		{Code: NoCPUCost, Severity: Note, Scope: "run",
			Short: "the CPU cost of {some} trials is unknown",
			Seen:  `(\d+) trials`, Say: "$1",
			When:   "the CPU cost of trials is unknown: CPU time or its idle baseline is unknown, or the trial used less CPU than the kernel's resolution of 10 ms can show",
			Effect: "those trials have no CPU metrics; their other metrics are valid",
			Fix:    "what the text names: a longer `settle`, longer trials, a quieter machine"},
		{Code: CostPassMissing, Severity: Note, Scope: "run",
			Short:  "no pass at one rate: CPU use is compared at different rates",
			When:   "no trial showed how fast the slowest mode is, or the run has no block for the pass",
			Effect: "nothing runs at one rate for all modes, and CPU use at different rates is not comparable",
			Fix:    "what the failed trials name; or a `rate` under `cost_pass` of the study"},
		{Code: StacksUnavailable, Severity: Note, Scope: "run, or mode workload",
			Short:  "no CPU stack samples: no breakdown of the CPU cost, or a smaller one",
			When:   "stacks could not be sampled: no permission, no perf events, kernel symbols hidden, client or server on another machine; or the samples of one trial were lost",
			Effect: "there is no [breakdown](breakdown.md) of the CPU cost, or it has one trial less",
			Fix:    "what the text names: root or CAP_PERFMON, `kernel.kptr_restrict`"},
		{Code: StacksUnknown, Severity: Note, Scope: "mode workload",
			Short: "{some} CPU stack samples match no rule: components are too small",
			Seen:  `[\d.]+ %`, Say: "$0",
			When:   "more than 15 % of the sampled stacks match no rule",
			Effect: "the components of the breakdown are too small by that share",
			Fix:    "report it, with the folded stacks of the run's directory"},
		{Code: StacksLost, Severity: Note, Scope: "mode workload",
			Short: "{some} CPU stack samples were lost",
			Seen:  `[\d.]+ %`, Say: "$0",
			When:   "more than 5 % of the samples were lost",
			Effect: "the breakdown covers what the machine had time to sample",
			Fix:    "a machine with less other load"},
	}
}

// machine are the warnings found before a run, which tare doctor lists.
func machine() []Entry {
	return []Entry{
		{Code: FakedProcStat, Severity: Bias, Scope: "run",
			Short:  "/proc/stat is not the kernel's own: CPU costs are too low",
			When:   "something is mounted over `/proc/stat`",
			Effect: "the `machine` values of trials are too low",
			Fix:    "run on the container's host"},
		{Code: CPUQuota, Severity: Bias, Scope: "run",
			Short: "limited to {less} CPU time: rates show the limit, not the mode",
			Seen:  `to ([\d.]+ CPUs)`, Say: "$1",
			When:   "a control group limits the CPU time of this process",
			Effect: "rates show the limit; the longest round trips are the pauses it causes",
			Fix:    "remove `--cpus`, `CPUQuota=` or the pod's limit"},
		{Code: PowersaveGovernor, Severity: Bias, Scope: "run",
			Short:  "CPU governor powersave: CPU cost and latency depend on the clock speed",
			When:   "a CPU's frequency governor is powersave",
			Effect: "trials begin on slow CPUs and latency is higher; CPU seconds of two modes are not comparable",
			Fix:    "`cpupower frequency-set -g performance`"},
		{Code: FewCores, Severity: Spread, Scope: "run",
			Short: "{few CPUs} for client and server: rates lower, spread wider",
			Seen:  `\d+ CPUs?`, Say: "$0",
			When:   "fewer than 4 CPUs are available",
			Effect: "client, server, packet processing and `tare` share them: rates are lower and vary more, and expensive modes lose more",
			Fix:    "a machine with 4 CPUs or more"},
		{Code: SMT, Severity: Spread, Scope: "run",
			Short:  "fewer than 4 CPU cores: hardware threads of one core slow each other down",
			When:   "4 CPUs or more, but hardware threads of fewer than 4 cores",
			Effect: "threads of one core slow each other down",
			Fix:    "a machine with 4 cores or more"},
		{Code: NoConstantClock, Severity: Spread, Scope: "run",
			Short:  "reading the clock is slow: rates lower, round trips longer",
			When:   "reading the clock source takes a system call",
			Effect: "the generator reads the clock for every exchange: rates are lower and round trips longer",
			Fix:    "`tsc` as clock source, where the kernel trusts it"},
		{Code: BusyMachine, Severity: Spread, Scope: "run",
			Short: "other programs were running (load {high}): results vary more",
			Seen:  `minute is ([\d.]+)`, Say: "$1",
			When:   "the load average of the last minute is above half the number of CPUs",
			Effect: "other programs use CPU: every value varies more",
			Fix:    "wait, or stop the other programs"},
		{Code: OthersNow, Severity: Spread, Scope: "run",
			Short: "other programs use {much} of a CPU",
			Seen:  `[\d.]+ %`, Say: "$0",
			When:   "only in `tare doctor`: during the second it observes, other programs used more CPU than the limit of a study's [rules](study.md#invalid-trials)",
			Effect: "trials that run alone would be invalid; interleaved trials share it",
			Fix:    "stop the programs that the text names; a quieter machine"},
		{Code: StealNow, Severity: Spread, Scope: "run",
			Short: "the hypervisor takes {much} of a CPU",
			Seen:  `[\d.]+ %`, Say: "$0",
			When:   "only in `tare doctor`: during the second it observes, the hypervisor took more CPU than the limit of a study's [rules](study.md#invalid-trials)",
			Effect: "trials that run alone would be invalid; interleaved trials share it",
			Fix:    "a quieter machine, or one that is not virtual"},
		{Code: MemoryLimit, Severity: Spread, Scope: "run",
			Short: "limited to {little} of memory: small buffers",
			Seen:  `[\d.]+ MiB`, Say: "$0",
			When:   "a control group limits this process to less than 1 GiB of memory",
			Effect: "socket buffers count against it: buffers are small, and the kernel kills processes that exceed it",
			Fix:    "remove `--memory`, `MemoryMax=` or the pod's limit"},
		{Code: NUMASpans, Severity: Spread, Scope: "run",
			Short: "CPUs on {several} NUMA nodes: rates depend on placement",
			Seen:  `on (\d+) NUMA`, Say: "$1",
			When:   "the available CPUs are on several NUMA nodes",
			Effect: "rates depend on the nodes of client and server: results may form bands",
			Fix:    "`numactl --cpunodebind=0 --membind=0 tare ...`"},
		{Code: VirtualMachine, Severity: Note, Scope: "run",
			Short:  "virtual machine: ratios are valid here, values are not those of bare metal",
			When:   "the CPU reports a hypervisor",
			Effect: "the cost of CPUs, caches and wake-ups depends on the host and its other guests: ratios within a run are valid, values are not those of the bare machine",
			Fix:    "a physical machine; interleaved modes, the default, help"},
		{Code: InContainer, Severity: Note, Scope: "run",
			Short:  "tare runs in a container, with its limits and its view of /proc",
			When:   "an engine's mark, or an overlay as root file system",
			Effect: "the engine's limits, seccomp filter and view of `/proc` apply to client and server, too",
			Fix:    "run on the container's host"},
		{Code: MitigationsOff, Severity: Note, Scope: "run",
			Short:  "booted with mitigations=off: system calls are cheaper than usual",
			When:   "`mitigations=off` on the kernel's command line",
			Effect: "system calls cost less than on most machines, and so does every mode",
			Fix:    "boot without it"},
		{Code: BBRDefault, Severity: Note, Scope: "run",
			Short:  "bbr is the default congestion control here; tare uses cubic",
			When:   "the system's default congestion control is bbr",
			Effect: "`tare` sets cubic: its results are not those of a program that keeps the default",
			Fix:    "`sysctl -w net.ipv4.tcp_congestion_control=cubic`, or name bbr in the study"},
		{Code: NoCubic, Severity: Note, Scope: "run",
			Short:  "this kernel has no cubic: trials fail if its module cannot be loaded",
			When:   "cubic is not among the kernel's congestion controls",
			Effect: "trials fail if its module cannot be loaded either",
			Fix:    "`modprobe tcp_cubic`, or `congestion_control: reno`"},
		{Code: CubicRestricted, Severity: Note, Scope: "run",
			Short:  "cubic needs CAP_NET_ADMIN here: trials without it fail",
			When:   "setting cubic needs `CAP_NET_ADMIN` here",
			Effect: "a client or server without that capability cannot set it, and its trials fail",
			Fix:    "add cubic to `net.ipv4.tcp_allowed_congestion_control`"},
	}
}

// existing are the warnings for runs on an existing engine, in the network stack of the machine.
func existing() []Entry {
	return []Entry{
		{Code: HostFiltered, Severity: Bias, Scope: "run",
			Short:  "a packet filter in the host's stack: other modes look cheaper than they are",
			When:   "the stack has packet filter rules, as where Docker runs",
			Effect: "a baseline in it pays for the rules, so every other mode looks cheaper than it is",
			Fix:    "a lab; no rules"},
		{Code: ConntrackFilled, Severity: Bias, Scope: "run",
			Short:  "connection tracking is nearly full: drops look like a mode's loss",
			When:   "its connection tracking table is more than 80 % full",
			Effect: "when the table is full, new connections and flows are dropped, which looks like the mode's loss",
			Fix:    "raise `net.netfilter.nf_conntrack_max`"},
		{Code: Irqbalance, Severity: Spread, Scope: "run",
			Short:  "irqbalance moves interrupts between CPUs: spread wider",
			When:   "irqbalance runs",
			Effect: "packet processing moves between CPUs during a run",
			Fix:    "stop it during the run"},
		{Code: DeviceOffloads, Severity: Spread, Scope: "run",
			Short:  "a network card lacks offloads: the kernel limits the rate, not the wire",
			When:   "a hardware device lacks segmentation, receive or checksum offload",
			Effect: "packet processing in the kernel limits the rate, not the wire",
			Fix:    "`ethtool -K`, where the hardware can"},
	}
}

// foreign are the warnings of tare judge.
func foreign() []Entry {
	return []Entry{
		{Code: BetterAssumed, Severity: Bias, Scope: "run",
			Short:  "higher is assumed to be better: worse and better may be the wrong way round",
			When:   "nothing says whether higher or lower values of a metric are better",
			Effect: "higher is assumed: `worse` and `better` may be the wrong way round",
			Fix:    "a column `better`, a unit, or `--better`"},
		{Code: OneValue, Severity: Bias, Scope: "mode workload metric",
			Short:  "only one value: no interval, no verdict",
			When:   "there is only one value",
			Effect: "no interval, no verdict",
			Fix:    "more values"},
		{Code: ZeroValue, Severity: Bias, Scope: "run",
			Short:  "values of 0: no ratio, no verdict",
			When:   "values of 0 in a metric that is not one of `tare`'s counts and shares",
			Effect: "no ratio, and so no verdict, where one of them is part of it",
			Fix:    "none, if they are right"},
		{Code: MissingBlock, Severity: Spread, Scope: "mode workload metric",
			Short:  "blocks without a value of both modes are left out: interval wider",
			When:   "a block has a value of the mode or of its baseline, but not of both",
			Effect: "the value is left out of the pair",
			Fix:    "the missing value"},
		{Code: MissingValue, Severity: Spread, Scope: "run",
			Short:  "rows without a value are left out: intervals wider",
			When:   "rows without a value",
			Effect: "they are left out",
			Fix:    "the values"},
		{Code: DecimalComma, Severity: Note, Scope: "run",
			Short:  "a comma in a value is read as a decimal point",
			When:   "a comma in a value was read as a decimal point",
			Effect: "if it was a thousands separator, the value is wrong",
			Fix:    "a decimal point"},
		{Code: UnknownColumn, Severity: Note, Scope: "run",
			Short:  "a column with an unknown name is not used",
			When:   "a column has an unknown name",
			Effect: "it is not used",
			Fix:    "a name of [the table](judge.md#a-table)"},
	}
}

// tools are the notes of external traffic generators, which docs/tools.md lists.
func tools() []Entry {
	return []Entry{
		{Code: ToolPacing, Severity: Spread, Scope: "mode workload",
			Short: "the tool paces unevenly: some of the loss may be its own",
			When:  "the tool's version paces unevenly: some of the loss may be its own"},
		{Code: ToolOneThread, Severity: Spread, Scope: "mode workload",
			Short: "the tool drives all streams on one thread",
			When:  "the tool's version drives all streams on one thread, which limits the rate in every mode"},
		{Code: ToolNoLoss, Severity: Note, Scope: "mode workload",
			Short: "loss is unknown: the tool counts more received than sent",
			When:  "loss is unknown: client and server count over different times"},
		{Code: ToolLossCount, Severity: Note, Scope: "mode workload",
			Short: "the tool's own loss count is impossible and is not used",
			When:  "the tool's own loss count is impossible and is not used: loss is sent less received"},
		{Code: ToolPhantomLoss, Severity: Note, Scope: "mode workload",
			Short: "the tool counts datagrams that it did not send; bytes are used",
			When:  "the tool counts datagrams that it did not send; loss is computed from bytes"},
		{Code: TailLoss, Severity: Note, Scope: "mode workload",
			Short: "datagrams were lost, or still queued, at the end of the trial",
			When:  "datagrams were lost, or still queued, at the end, which the tool's own count does not include; loss does"},
		{Code: ToolWholeTrial, Severity: Note, Scope: "mode workload",
			Short: "loss is that of the whole trial, warm-up included",
			When:  "loss is that of the whole trial, warm-up included"},
		{Code: ToolBuffers, Severity: Note, Scope: "mode workload",
			Short: "the tool has other socket buffers than the study asks for",
			When:  "the socket buffers differ from what the study asks for, in every mode"},
		{Code: ToolIgnored, Severity: Note, Scope: "mode workload",
			Short: "the tool does not support a parameter of the study",
			When:  "the tool does not support a parameter of the study, in any mode"},
		{Code: ToolVersions, Severity: Note, Scope: "mode workload",
			Short: "client and server run different versions of the tool",
			When:  "client and server run different versions of a tool other than iperf3"},
		{Code: ToolSays, Severity: Note, Scope: "mode workload",
			Short: "the tool wrote a message to its standard error",
			When:  "the first line that the tool wrote to its standard error"},
	}
}
