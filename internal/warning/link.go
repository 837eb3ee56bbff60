package warning

// The codes about the link between two machines.
const (
	LargePacketsLost Code = "large_packets_lost"
	PacketsDamaged   Code = "packets_damaged"
	DirectionBlocked Code = "direction_blocked"
	PathLossy        Code = "path_lossy"
	LinksDiffer      Code = "links_differ"
	HostsDiffer      Code = "hosts_differ"
	PathMTUSmaller   Code = "path_mtu_smaller"
	ClocksApart      Code = "clocks_apart"
)

// link are the warnings about the link between two machines, found by probes and by the
// facts of both before a run.
func link() []Entry {
	return []Entry{
		{Code: LargePacketsLost, Severity: Bias, Scope: "run, or mode",
			Short:  "packets above {the path's MTU} are lost without a report",
			Say:    "$1 bytes",
			When:   "[the probes](link.md#probes) found a size above which packets do not arrive, although the sender's device takes them and no router reports it",
			Effect: "datagrams and tunnels of that size lose everything, and modes differ by their sizes, not by their cost; TCP passes only with smaller segments. Where TCP does not pass between two machines either, the run ends with exit code 3",
			Fix:    "the MTU that the text names, on both hosts or of the mode's network; let routers send ICMP"},
		{Code: PacketsDamaged, Severity: Bias, Scope: "run, or mode",
			Short:  "the path damages packets: every result over it is in doubt",
			When:   "packets of the probes arrived with a wrong checksum, or with other content. Between two machines a TCP stream with other content ends the run with exit code 3",
			Effect: "damaged packets are lost, most where a device computes checksums: results are those of the defect",
			Fix:    "turn off offloads one by one (`ethtool -K`) to find the device"},
		{Code: DirectionBlocked, Severity: Bias, Scope: "run",
			Short:  "one direction or family between the hosts is blocked: some modes fail",
			When:   "TCP or UDP does not pass between the hosts in a direction or an address family. If TCP passes from the client's host in none, the run ends with exit code 3",
			Effect: "workloads and tunnels that need it fail, and their results are missing",
			Fix:    "open it in the firewalls of both hosts and between them"},
		{Code: PathLossy, Severity: Bias, Scope: "run",
			Short:  "the path between the hosts loses {some} packets, before any trial",
			Say:    "$1 % of the",
			When:   "of the small and large packets of the probes in a direction, up to 200 each, at least 4 had no answer",
			Effect: "all modes share the loss, so ratios are valid where they were measured at once; values are lower and vary more, and differences in CPU cost or delay may vanish behind it",
			Fix:    "full queues, bad cables and rate limits between the hosts"},
		{Code: LinksDiffer, Severity: Note, Scope: "run",
			Short:  "the links of the two hosts differ",
			When:   "MTU, speed, duplex, driver, firmware, offloads, ring sizes, channels or pause frames differ between the devices by which the two hosts reach each other",
			Effect: "every mode has the same two hosts, so ratios are valid; the two directions are not comparable with each other",
			Fix:    "the same settings on both, where the hardware can"},
		{Code: HostsDiffer, Severity: Note, Scope: "run",
			Short:  "the two hosts differ",
			When:   "kernel, CPU model, number of CPUs, clock source, frequency governor or default congestion control differ between the two hosts",
			Effect: "as for `links_differ`: the CPU cost of sending and receiving is that of two different machines",
			Fix:    "two equal machines; none if these are the machines in question"},
		{Code: PathMTUSmaller, Severity: Note, Scope: "run, or mode",
			Short:  "the path passes packets of at most {less than the device's MTU}",
			Say:    "$1 bytes",
			When:   "the probes found that larger packets do not pass, and routers report it",
			Effect: "the first large packets of a connection are lost; datagrams above that size are fragmented or refused",
			Fix:    "the MTU that the text names, on both hosts or of the mode's network"},
		{Code: ClocksApart, Severity: Note, Scope: "run",
			Short:  "the clocks of the hosts are {far} apart",
			Say:    "$1",
			When:   "the times of day of two hosts, or of a host and this machine, differ by more than 1 s",
			Effect: "none on results, which never compare two clocks; times in logs of the hosts cannot be compared",
			Fix:    "NTP on both"},
	}
}
