package warning

// The codes about the verdicts.
const (
	BaselineMissing   Code = "baseline_missing"
	ControlDiffers    Code = "control_differs"
	BeatsBaseline     Code = "beats_baseline"
	ToolsDisagree     Code = "tools_disagree"
	TestsDisagree     Code = "tests_disagree"
	TwoBands          Code = "two_bands"
	BadValue          Code = "bad_value"
	TrialsMissing     Code = "trials_missing"
	StaleRun          Code = "stale_run"
	OtherExperiment   Code = "other_experiment"
	DifferentMachines Code = "different_machines"
	StudyChanged      Code = "study_changed"
	DuplicateTrials   Code = "duplicate_trials"
	UnknownMetric     Code = "unknown_metric"
)

// verdicts are the warnings about cells and about the run's own files.
func verdicts() []Entry {
	return []Entry{
		{Code: BaselineMissing, Severity: Bias, Scope: "mode workload",
			Short:  "the baseline has no valid trial: no ratio, no verdict",
			When:   "the baseline is not in the run, was not measured, or has no valid trial",
			Effect: "there is no ratio, and the verdict is `cannot_tell`",
			Fix:    "fix the baseline: the text has the reason"},
		{Code: ControlDiffers, Severity: Bias, Scope: "mode workload metric",
			Short:  "the A/A control {differs from its baseline}: doubt differences of this size",
			Say:    "is $1 times its baseline's $2",
			When:   "the verdict on the A/A control, which is a second copy of the baseline, is `worse` or `better`",
			Effect: "something other than the mode causes differences of this size. In 5 of 100 runs it is chance",
			Fix:    "a quieter machine, more blocks"},
		{Code: BeatsBaseline, Severity: Bias, Scope: "mode workload metric",
			Short:  "{better than the baseline}, which a longer path should not be: doubt it",
			Say:    "$1 times the baseline's $2",
			When:   "the verdict on the workload's main metric is `better`",
			Effect: "a longer path should not be faster: the verdict does not change, but doubt it",
			Fix:    "check path counters, MTU, offloads, buffers and CPU placement"},
		{Code: ToolsDisagree, Severity: Bias, Scope: "mode workload metric",
			Short:  "the two traffic generators disagree on the cost by more than the margin",
			When:   "with `verify_with`: the cost of the mode differs between the two traffic generators by more than the margin",
			Effect: "one of the two measures a limit of its own: rely on neither until it is known which",
			Fix:    "the same settings for both; more CPUs"},
		{Code: TestsDisagree, Severity: Note, Scope: "mode workload metric",
			Short:  "{two tests of the same blocks disagree}: no difference is shown",
			Say:    "p $1 by the t test, $2 by the sign-flip test",
			When:   "the t test shows a difference in the main metric, and the [sign-flip test](method/statistics.md#a-second-test) of the same blocks, or of their set-ups, does not",
			Effect: "the verdict is `same` or `cannot_tell`: the difference rests on the noise being normal",
			Fix:    "more blocks"},
		{Code: TwoBands, Severity: Bias, Scope: "mode workload metric",
			Short:  "{two bands of results}: the mean describes neither",
			Say:    "$1 $2 near $3, $4 near $5",
			When:   "in 10 blocks or more, the ratios of the main metric to the baseline form two groups: at least 2 in each, 20 % apart, and the gap 3 times the wider group. A baseline gets the warning only if its own values form two groups and the ratios of every mode compared with it do, too",
			Effect: "the mean describes neither group",
			Fix:    "look at the single trials; pin CPUs, or set buffers to a fixed size"},
		{Code: BadValue, Severity: Bias, Scope: "mode workload metric",
			Short:  "values that are negative or not finite, and left out: {some}",
			Say:    "$1",
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
		{Code: OtherExperiment, Severity: Bias, Scope: "run",
			Short:  "trials of another experiment are in its directory and count in no cell: {some}",
			Say:    "$1",
			When:   "`trials.ndjson` has trials that other settings decided, whose mode was another one, or that another build of tare measured: the run was resumed with `--force`, or the file was edited",
			Effect: "they count in no cell. Those of this run are as valid as without them",
			Fix:    "none needed; to count them, restore the study, the build and the modes that measured them, and resume"},
		{Code: DifferentMachines, Severity: Bias, Scope: "run",
			Short:  "the two runs are of different machines, and ratios differ between machines",
			When:   "two runs are compared of which the CPU model or stepping, the microcode, the hypervisor or the number of CPUs differs, or a value of the [calibration](facts.md#calibration) by more than 25 %",
			Effect: "a ratio is of a machine, too: any change may be the machine's. The verdicts do not change",
			Fix:    "repeat the earlier run on this machine"},
		{Code: StudyChanged, Severity: Bias, Scope: "run",
			Short:  "study.yaml was changed after the run: it is not what was measured",
			When:   "`study.yaml` has other settings than those that the run recorded. Reported when the run is read",
			Effect: "the results are of what was measured. `tare compare` and `tare check` refuse the run, and `tare run --resume` does",
			Fix:    "restore `study.yaml`: the text has the values"},
		{Code: DuplicateTrials, Severity: Note, Scope: "run",
			Short:  "lines of trials.ndjson that repeat a trial, which counts once: {some}",
			Say:    "$1",
			When:   "lines of `trials.ndjson` have the same number, attempt and settings",
			Effect: "the first of them counts",
			Fix:    "restore the file: it was changed"},
		{Code: UnknownMetric, Severity: Note, Scope: "run",
			Short:  "a metric that this version of tare does not know is left out",
			When:   "a trial has a metric that this version does not know",
			Effect: "its values are left out",
			Fix:    "read the run with the version that wrote it"},
	}
}

// The codes about the traffic.
const (
	GeneratorLimited   Code = "generator_limited"
	SearchNoResult     Code = "search_no_result"
	SearchAtLeast      Code = "search_at_least"
	SearchUnfinished   Code = "search_unfinished"
	LostExchanges      Code = "lost_exchanges"
	TCPLoss            Code = "tcp_loss"
	OffloadUnavailable Code = "offload_unavailable"
	PortsExhausted     Code = "ports_exhausted"
	TimeWaitFull       Code = "time_wait_full"
	NotResumed         Code = "not_resumed"
	NotRecovered       Code = "not_recovered"
	Throttled          Code = "throttled"
	LossInversion      Code = "loss_inversion"
	ForeignTraffic     Code = "foreign_traffic"
	Shaped             Code = "shaped"
	CardDrops          Code = "card_drops"
	LinkPaused         Code = "link_paused"
	LossUnexplained    Code = "loss_unexplained"
	ThreadsNotSet      Code = "threads_not_set"
)

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
			When:   "`udp_rr`, `udp_dns`: a request or its response did not arrive in time; `tcp_crr`, `tcp_rr`, `tcp_dns`: a connection was refused or reset, or had no response in time; `http`, `http2`, `grpc`: a request failed",
			Effect: "the round trips are those of the other exchanges; `loss_ratio` has the lost share, and [`attempts`](loss.md#connections-that-fail) the connections that failed",
			Fix:    "a quieter machine, larger buffers; over TCP what refuses or resets connections: a firewall, a proxy, a server without room"},
		{Code: TCPLoss, Severity: Bias, Scope: "mode workload",
			Short:  "{some} packets are lost: exchanges wait for them, 200 ms and more each",
			Say:    "$1 % of the",
			When:   "`tcp_rr`, `tcp_crr`, `http`, `http2`, `grpc`: of the segments of a trial, at least one in 1,000, and at least 5, were lost and sent again. Bulk transfers lose packets on most paths",
			Effect: "an exchange whose packet is lost waits for a timer, 200 ms or more, and a connection for 1 s: rates and long round trips show that, not what the mode costs",
			Fix:    "what the text names: a filter, a full queue, a damaged link"},
		{Code: OffloadUnavailable, Severity: Bias, Scope: "mode workload",
			Short:  "no UDP segmentation on the path: not comparable with modes that have it",
			When:   "UDP segmentation was requested, and the path does not support it",
			Effect: "datagrams were sent one at a time: do not compare with a mode that had it",
			Fix:    "`offload: off`"},
		{Code: PortsExhausted, Severity: Bias, Scope: "mode workload",
			Short:  "source ports ran out, or nearly: the connection rate is affected",
			When:   "`tcp_crr`, `http`: no source port was free for a while, or the search for one took long",
			Effect: "`tcp_crr`: the time without a port is left out of the rate; a long search lowers the rate. `http`: the wait is part of response times",
			Fix:    "what the text names"},
		{Code: TimeWaitFull, Severity: Bias, Scope: "mode workload",
			Short:  "the TIME_WAIT table was full: connections were cheaper to close",
			When:   "the kernel's table of connections in TIME_WAIT was full",
			Effect: "connections were closed without TIME_WAIT, which costs less",
			Fix:    "raise `net.ipv4.tcp_max_tw_buckets`"},
		{Code: NotResumed, Severity: Bias, Scope: "mode workload",
			Short:  "TLS sessions were not resumed: response times have full handshakes",
			When:   "`http` with `resumption: on`: more than 1 % of the connections after the first of each flow did not resume a session",
			Effect: "do not compare with a mode whose connections did",
			Fix:    "`resumption: off`, or tickets in the proxy that ends TLS"},
		{Code: NotRecovered, Severity: Bias, Scope: "mode workload",
			Short:  "the old rate did not come back in some trials after the event",
			When:   "a workload with an [`event`](events.md): at the end of a trial fewer requests were answered than offered, from the event on",
			Effect: "`recovery_time` is that of the other trials, and so too short",
			Fix:    "a longer `duration`"},
		{Code: Throttled, Severity: Bias, Scope: "mode workload",
			Short:  "{one end} was stopped, because its CPU limit was used up",
			Say:    "$1",
			When:   "the kernel stopped the client or the server of a trial, because the CPU limit of its container or pod was used up (`nr_throttled` in `cpu.stat`)",
			Effect: "rates show the limit, not the mode, and the longest round trips are the pauses",
			Fix:    "a higher limit, or none (`limits` of the study, a LimitRange of the namespace)"},
		{Code: LossInversion, Severity: Spread, Scope: "mode workload",
			Short:  "a rate search passed at a higher load than one that failed: noise",
			When:   "a rate search passed at a load above one that lost too much",
			Effect: "the result is the rate below the failed load",
			Fix:    "longer steps; a quieter machine"},
		{Code: ForeignTraffic, Severity: Spread, Scope: "mode workload",
			Short:  "connections or datagrams of others, refused and not counted: {some}",
			Say:    "$1",
			When:   "connections or datagrams without the trial's token arrived at its ports, or at those of the path's check before it. From 100 connections on, the trial fails",
			Effect: "they are refused and in no count, but take CPU time and bandwidth from the trial",
			Fix:    "find who sends them: a port scan, a health check, another program on the port; keep the ports from the network"},
		{Code: Shaped, Severity: Bias, Scope: "mode workload",
			Short:  "{a shaper} limits the path",
			Say:    "$1 on $2 of $3 ($4)",
			When:   "the data of a bulk transfer passed a token bucket (`tbf`, or `htb` with one chain of classes) that the kernel reports. After a pause, a bucket lets its depth pass at once",
			Effect: "the goodput is the rate that the bucket sustains, not what the mode could carry: the trial ran in one piece, its warm-up emptied the bucket",
			Fix:    "none if the shaper is meant; without it, the limit of the CNI plugin (`bandwidth`), of the engine or of `tc`"},
		{Code: CardDrops, Severity: Spread, Scope: "mode workload",
			Short:  "a network card dropped packets: {which}",
			Say:    "$1 of host $2",
			When:   "a network card of a host, or its driver, counted packets that it dropped during a trial over TCP. Over UDP they are in [the loss table](loss.md)",
			Effect: "TCP sends them again: rates are lower. Others may have sent them, too",
			Fix:    "larger rings (`ethtool -G`), more queues, interrupts on other CPUs"},
		{Code: LinkPaused, Severity: Spread, Scope: "mode workload",
			Short:  "pause frames stopped the link: {which}",
			Say:    "$1 of host $2",
			When:   "a network card received or sent pause frames during a trial",
			Effect: "the receiver or a switch stopped the sender: rates are those of the slower side, and losses move to the sender's queue",
			Fix:    "a faster receiver; `ethtool -A ... rx off tx off` to see losses instead"},
		{Code: LossUnexplained, Severity: Note, Scope: "mode workload",
			Short:  "no counter shows where {some} lost datagrams were dropped",
			Say:    "$1 % of the",
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
