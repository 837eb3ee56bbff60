package warning

// The codes about the machine.
const (
	FakedProcStat     Code = "faked_proc_stat"
	CPUQuota          Code = "cpu_quota"
	PowersaveGovernor Code = "powersave_governor"
	FewCores          Code = "few_cores"
	SMT               Code = "smt"
	NoConstantClock   Code = "no_constant_clock"
	BusyMachine       Code = "busy_machine"
	OthersNow         Code = "others_now"
	StealNow          Code = "steal_now"
	MemoryLimit       Code = "memory_limit"
	NUMASpans         Code = "numa_spans"
	VirtualMachine    Code = "virtual_machine"
	InContainer       Code = "in_container"
	MitigationsOff    Code = "mitigations_off"
	BBRDefault        Code = "bbr_default"
	NoCubic           Code = "no_cubic"
	CubicRestricted   Code = "cubic_restricted"
)

// machine are the warnings found before a run, which tare doctor lists.
func machine() []Entry {
	return []Entry{
		{Code: FakedProcStat, Severity: Bias, Scope: "run",
			Short:  "/proc/stat is not the kernel's own: CPU costs are too low",
			When:   "something is mounted over `/proc/stat`",
			Effect: "the `machine` values of trials are too low",
			Fix:    "run on the container's host"},
		{Code: CPUQuota, Severity: Bias, Scope: "run",
			Short:  "limited to {less} CPU time: rates show the limit, not the mode",
			Say:    "$1 CPUs",
			When:   "a control group limits the CPU time of this process",
			Effect: "rates show the limit; the longest round trips are the pauses it causes",
			Fix:    "remove `--cpus`, `CPUQuota=` or the pod's limit"},
		{Code: PowersaveGovernor, Severity: Bias, Scope: "run",
			Short:  "CPU governor powersave: CPU cost and latency depend on the clock speed",
			When:   "a CPU's frequency governor is powersave",
			Effect: "trials begin on slow CPUs and latency is higher; CPU seconds of two modes are not comparable",
			Fix:    "`cpupower frequency-set -g performance`"},
		{Code: FewCores, Severity: Spread, Scope: "run",
			Short:  "{few CPUs} for client and server: rates lower, spread wider",
			Say:    "$1",
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
			Short:  "other programs were running (load {high}): results vary more",
			Say:    "$1",
			When:   "the load average of the last minute is above half the number of CPUs",
			Effect: "other programs use CPU: every value varies more",
			Fix:    "wait, or stop the other programs"},
		{Code: OthersNow, Severity: Spread, Scope: "run",
			Short:  "other programs use {much} of a CPU",
			Say:    "$1",
			When:   "only in `tare doctor`: during the second it observes, other programs used more CPU than the limit of a study's [rules](study.md#invalid-trials)",
			Effect: "trials that run alone would be invalid; interleaved trials share it",
			Fix:    "stop the programs that the text names; a quieter machine"},
		{Code: StealNow, Severity: Spread, Scope: "run",
			Short:  "the hypervisor takes {much} of a CPU",
			Say:    "$1",
			When:   "only in `tare doctor`: during the second it observes, the hypervisor took more CPU than the limit of a study's [rules](study.md#invalid-trials)",
			Effect: "trials that run alone would be invalid; interleaved trials share it",
			Fix:    "a quieter machine, or one that is not virtual"},
		{Code: MemoryLimit, Severity: Spread, Scope: "run",
			Short:  "limited to {little} of memory: small buffers",
			Say:    "$1 MiB",
			When:   "a control group limits this process to less than 1 GiB of memory",
			Effect: "socket buffers count against it: buffers are small, and the kernel kills processes that exceed it",
			Fix:    "remove `--memory`, `MemoryMax=` or the pod's limit"},
		{Code: NUMASpans, Severity: Spread, Scope: "run",
			Short:  "CPUs on {several} NUMA nodes: rates depend on placement",
			Say:    "$1",
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

// The codes about the host of an existing engine.
const (
	HostFiltered    Code = "host_filtered"
	ConntrackFilled Code = "conntrack_filled"
	Irqbalance      Code = "irqbalance"
	DeviceOffloads  Code = "device_offloads"
)

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

// The codes about numbers from elsewhere.
const (
	OneValue      Code = "one_value"
	ZeroValue     Code = "zero_value"
	MissingBlock  Code = "missing_block"
	MissingValue  Code = "missing_value"
	DecimalComma  Code = "decimal_comma"
	UnknownColumn Code = "unknown_column"
)

// foreign are the warnings of tare judge.
func foreign() []Entry {
	return []Entry{
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

// The codes about external tools.
const (
	ToolPacing      Code = "tool_pacing"
	ToolOneThread   Code = "tool_one_thread"
	ToolNoLoss      Code = "tool_no_loss"
	ToolLossCount   Code = "tool_loss_count"
	ToolPhantomLoss Code = "tool_phantom_loss"
	TailLoss        Code = "tail_loss"
	ToolWholeTrial  Code = "tool_whole_trial"
	ToolBuffers     Code = "tool_buffers"
	ToolIgnored     Code = "tool_ignored"
	ToolVersions    Code = "tool_versions"
	ToolSays        Code = "tool_says"
)

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
