package setting

import (
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"

	"tare/internal/linuxnet"
)

// threaded has the packets of the veths received by kernel threads instead of by the
// softirq of the CPU that sent them. A device has NAPI, which the threads run, only with GRO.
func (a *application) threaded(value string) error {
	if value == on && a.with[nameGRO] != on {
		return a.unsupported(nameThreaded, value, "a veth has NAPI only with GRO; add gro: on and tso: off")
	}
	digit := map[string]string{on: "1", off: "0"}[value]
	done, err := a.devices(isVeth, func(w place, dev string) error { return w.ns.Tuning().SetDeviceAttribute(dev, "threaded", digit) })
	if err == nil && len(done) == 0 {
		err = a.unsupported(nameThreaded, value, "the path has no veth")
	}
	if err != nil {
		return err
	}
	a.readDevices(nameThreaded, digit, isVeth, readAttribute("threaded"))
	text := readBackOnly
	if value == on {
		if text, err = a.proveThreads(); err != nil {
			return err
		}
	}
	a.fact(nameThreaded, value, done, text)
	return nil
}

// proveThreads requires CPU time of the threads of the devices that receive traffic: at
// least 1 ns for each packet. Kernels before 6.8 do not tell which threads these are.
func (a *application) proveThreads() (string, error) {
	for _, w := range a.places {
		if !showsThreads(w) {
			return readBackOnly, nil
		}
	}
	n, err := a.prove(proof{counter: "napi_thread_ns", pick: isVeth, size: fixed(maxPacket), read: threadTime})
	return provenBy(n, "the CPU time of the NAPI threads"), err
}

// showsThreads reports whether the kernel tells the NAPI threads of a namespace, and this
// process sees them. One in a PID namespace does not.
func showsThreads(w place) bool {
	threads, err := w.ns.Tuning().NAPIThreads()
	if err != nil {
		return false
	}
	for _, pids := range threads {
		if slices.ContainsFunc(pids, notNAPI) {
			return false
		}
	}
	return true
}

// notNAPI reports whether a process id is not that of a NAPI thread here.
func notNAPI(pid int) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err != nil || !strings.HasPrefix(string(name), "napi/")
}

// threadTime adds up the CPU time of the NAPI threads of a device, in ns.
func threadTime(w place, dev string) (sum uint64, err error) {
	threads, err := w.ns.Tuning().NAPIThreads()
	if err != nil {
		return 0, err
	}
	for _, pid := range threads[dev] {
		n, err := linuxnet.CPUTime(pid)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func readAttribute(name string) func(w place, dev string) (string, error) {
	return func(w place, dev string) (string, error) {
		got, err := w.ns.Tuning().DeviceAttributes(dev, []string{name})
		return got[name], err
	}
}

// queues sets the numbers of queues of every veth. The kernel requires that a device never
// receives by fewer queues than its peer sends by, so they grow in one order and shrink in
// the other.
func (a *application) queues(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	var done []string
	for _, next := range []func(q linuxnet.Queues) (rx, tx int){
		func(q linuxnet.Queues) (rx, tx int) { return max(q.Rx, n), q.Tx },
		func(q linuxnet.Queues) (rx, tx int) { return q.Rx, n },
		func(linuxnet.Queues) (rx, tx int) { return n, n },
	} {
		done, err = a.devices(isVeth, func(w place, dev string) error {
			q, err := w.ns.Tuning().Queues(dev)
			if err != nil {
				return err
			}
			if most := min(q.MaxRx, q.MaxTx); n > most {
				return a.unsupported(nameQueues, value, "%s in %s can have %d", dev, w.At, most)
			}
			rx, tx := next(q)
			return w.ns.Tuning().SetQueues(dev, rx, tx)
		})
		if err != nil {
			return err
		}
	}
	if len(done) == 0 {
		return a.unsupported(nameQueues, value, "the path has no veth")
	}
	a.readDevices(nameQueues, fmt.Sprintf("%d and %d", n, n), isVeth, func(w place, dev string) (string, error) {
		q, err := w.ns.Tuning().Queues(dev)
		return fmt.Sprintf("%d and %d", q.Rx, q.Tx), err
	})
	a.fact(nameQueues, value, done, readBackOnly)
	return nil
}

// rps spreads received packets over CPUs. The kernel's counts of the packets that each CPU
// processed are those of the machine, so they prove only that the CPUs took the packets, and
// nothing if these are all CPUs.
func (a *application) rps(value string) error {
	cpus, err := requestedCPUs(value)
	if err != nil {
		return err
	}
	done, err := a.eachQueue(nameRPS, "rx-%d/rps_cpus", func(q linuxnet.Queues) int { return q.Rx }, func(_, _ int) string { return mask(cpus) })
	if err != nil {
		return err
	}
	text := readBackOnly
	if value != off && value != all {
		n, err := a.prove(proof{counter: "rps_packets", wraps: true, pick: isVeth, size: fixed(maxPacket), read: func(place, string) (uint64, error) { return processed(cpus) }})
		if err != nil {
			return err
		}
		text = provenBy(n, "the packets that these CPUs processed")
	}
	a.fact(nameRPS, value, done, text)
	return nil
}

// xps lets each CPU send by one queue, which it shares with others only if there are more
// CPUs than queues.
func (a *application) xps(value string) error {
	cpus, err := requestedCPUs(all)
	if err != nil {
		return err
	}
	if n, _ := strconv.Atoi(a.with[nameQueues]); n < 2 {
		return a.unsupported(nameXPS, value, "a veth has one queue, so that there is nothing to choose; add queues: 2 or more")
	}
	done, err := a.eachQueue(nameXPS, "tx-%d/xps_cpus", func(q linuxnet.Queues) int { return q.Tx }, func(queue, queues int) string {
		var own []int
		for i, cpu := range cpus {
			if value == on && i%queues == queue {
				own = append(own, cpu)
			}
		}
		return mask(own)
	})
	if err != nil {
		return err
	}
	a.fact(nameXPS, value, done, readBackOnly)
	return nil
}

// eachQueue sets an attribute of each queue of every veth to a CPU mask, and has it read
// back.
func (a *application) eachQueue(setting, attribute string, queues func(linuxnet.Queues) int, value func(queue, queues int) string) (done []string, err error) {
	want := map[string]string{} // by place, device and attribute
	done, err = a.devices(isVeth, func(w place, dev string) error {
		q, err := w.ns.Tuning().Queues(dev)
		if err != nil {
			return err
		}
		for i := range queues(q) {
			name, set := fmt.Sprintf("queues/"+attribute, i), value(i, queues(q))
			want[w.At+" "+dev+" "+name] = set
			if err := w.ns.Tuning().SetDeviceAttribute(dev, name, set); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && len(done) == 0 {
		err = a.unsupported(setting, a.with[setting], "the path has no veth")
	}
	for _, w := range a.places {
		own := map[string]string{}
		for object, v := range want {
			if name, ok := strings.CutPrefix(object, w.At+" "); ok {
				own[name] = v
			}
		}
		if len(own) > 0 {
			a.readBack(setting, w, own, func() (map[string]string, error) { return readMasks(w, own) })
		}
	}
	return done, err
}

// readMasks reads the CPU masks of the objects of want, each a device and an attribute.
func readMasks(w place, want map[string]string) (map[string]string, error) {
	got := map[string]string{}
	for object := range want {
		dev, name, _ := strings.Cut(object, " ")
		have, err := w.ns.Tuning().DeviceAttributes(dev, []string{name})
		if err != nil {
			return nil, err
		}
		got[object] = normalMask(have[name])
	}
	return got, nil
}

// requestedCPUs returns the CPUs of a value of rps: none for off, those online for all.
func requestedCPUs(value string) ([]int, error) {
	if value == off {
		return nil, nil
	}
	if value != all {
		return parseCPUs(value)
	}
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("read which CPUs are online: %w", err)
	}
	var cpus []int
	for _, part := range strings.Split(strings.TrimSpace(string(text)), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("read which CPUs are online: %q is no list of CPUs", text)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// mask formats CPUs as the kernel reads a CPU mask: hexadecimal digits in groups of 32 bits.
func mask(cpus []int) string {
	bits := new(big.Int)
	for _, cpu := range cpus {
		bits.SetBit(bits, cpu, 1)
	}
	digits := bits.Text(16)
	var groups []string
	for len(digits) > 8 {
		groups = append(groups, digits[len(digits)-8:])
		digits = digits[:len(digits)-8]
	}
	groups = append(groups, digits)
	slices.Reverse(groups)
	return strings.Join(groups, ",")
}

// normalMask removes the leading zeros that the kernel prints in a CPU mask.
func normalMask(s string) string {
	s = strings.TrimLeft(s, "0,")
	if s == "" {
		return "0"
	}
	return s
}

// processed returns the packets that CPUs have processed, of all namespaces.
func processed(cpus []int) (sum uint64, err error) {
	text, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		return 0, err
	}
	return processedOf(string(text), cpus)
}

// cpuColumn is the column of softnet_stat with the number of the CPU, since Linux 5.10.
// Before, a line is that of the CPU with its number.
const cpuColumn = 12

// processedOf adds up the first column of the lines of CPUs.
func processedOf(softnet string, cpus []int) (sum uint64, err error) {
	for i, line := range strings.Split(strings.TrimSpace(softnet), "\n") {
		fields := strings.Fields(line)
		cpu := uint64(i)
		if len(fields) > cpuColumn {
			if cpu, err = strconv.ParseUint(fields[cpuColumn], 16, 32); err != nil {
				return 0, fmt.Errorf("read the packets processed by CPU: %w", err)
			}
		}
		if !slices.Contains(cpus, int(cpu)) || len(fields) == 0 {
			continue
		}
		n, err := strconv.ParseUint(fields[0], 16, 32)
		if err != nil {
			return 0, fmt.Errorf("read the packets processed by CPU: %w", err)
		}
		sum += n
	}
	return sum, nil
}
