package link

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"tare/internal/linuxnet/here"
)

// read reads a file of one line, and returns "" if there is none.
func read(fsys fs.FS, name string) string {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// sysDir is the directory of a device's class in sysfs. It is "" if sysfs shows the devices
// of another network namespace, as it does to a process that entered one without mounting
// it again.
func sysDir(fsys fs.FS, d here.LinkDetails) string {
	dir := "sys/class/net/" + d.Name
	if !fs.ValidPath(dir) || read(fsys, dir+"/ifindex") != strconv.Itoa(d.Index) || read(fsys, dir+"/address") != d.MAC {
		return ""
	}
	return dir
}

// steering describes over which CPUs the kernel distributes packets: received ones by RPS,
// sent ones by XPS, as masks of CPUs by queue.
func steering(fsys fs.FS, d here.LinkDetails) string {
	dir := sysDir(fsys, d)
	if dir == "" {
		return unknown("/sys shows the devices of another network namespace")
	}
	queues, err := fs.ReadDir(fsys, dir+"/queues")
	if err != nil {
		return unknown("no queues in /" + dir)
	}
	masks := map[string]map[string]int{"RPS": {}, "XPS": {}}
	for _, q := range queues {
		for what, file := range map[string]string{"RPS": "rps_cpus", "XPS": "xps_cpus"} {
			if mask := strings.TrimLeft(read(fsys, dir+"/queues/"+q.Name()+"/"+file), "0,"); mask != "" {
				masks[what][mask]++
			}
		}
	}
	var parts []string
	for _, what := range []string{"RPS", "XPS"} {
		parts = append(parts, what+" "+maskList(masks[what]))
	}
	if read(fsys, dir+"/threaded") == "1" {
		parts = append(parts, "threaded NAPI")
	}
	return strings.Join(parts, ", ")
}

// maxMasks bounds how many masks are listed.
const maxMasks = 8

func maskList(masks map[string]int) string {
	if len(masks) == 0 {
		return "off"
	}
	all := sorted(masks)
	if len(all) > maxMasks {
		return fmt.Sprintf("%d different masks, %s to %s", len(all), all[0], all[len(all)-1])
	}
	return strings.Join(all, " ")
}

// busDir is the directory of a device's hardware, which every network namespace shows.
func busDir(d here.LinkDetails) string {
	dir := "sys/bus/" + d.Bus + "/devices/" + d.BusDevice
	if d.Bus == "" || d.BusDevice == "" || !fs.ValidPath(dir) {
		return ""
	}
	return dir
}

func numaNode(fsys fs.FS, d here.LinkDetails) string {
	dir := busDir(d)
	if dir == "" {
		return "none"
	}
	// Devices on a virtual bus, such as virtio, have the node of the device above.
	for _, at := range []string{dir + "/numa_node", dir + "/../numa_node"} {
		if node := readAbove(fsys, at); node != "" && node != "-1" {
			return node
		}
	}
	return "none"
}

// readAbove reads a file whose path may lead through the directory above a symbolic link,
// which is not a valid path for a file system; the link is then followed by the system.
func readAbove(fsys fs.FS, name string) string {
	if text := read(fsys, name); text != "" || fs.ValidPath(name) {
		return text
	}
	dir, file, ok := strings.Cut(name, "/../")
	if !ok {
		return ""
	}
	to, err := fs.ReadLink(fsys, dir)
	if err != nil {
		return ""
	}
	return read(fsys, path.Join(path.Dir(path.Join(path.Dir(dir), to)), file))
}

// maxIRQs bounds how many interrupts are listed one by one.
const maxIRQs = 16

// irqs lists the interrupts of a device with the CPUs that handle them. The kernel tells
// the numbers of message-signalled interrupts of a PCI device; others are found by the
// names that drivers give them.
func irqs(fsys fs.FS, d here.LinkDetails) string {
	if d.Bus == "" && d.BusDevice == "" {
		return "none"
	}
	var numbers []int
	if dir := busDir(d); dir != "" {
		entries, _ := fs.ReadDir(fsys, dir+"/msi_irqs") // a device may have none
		for _, e := range entries {
			if n, err := strconv.Atoi(e.Name()); err == nil {
				numbers = append(numbers, n)
			}
		}
	}
	if len(numbers) == 0 {
		table, err := fs.ReadFile(fsys, "proc/interrupts")
		if err != nil {
			return unknown("/proc/interrupts cannot be read")
		}
		numbers = named(string(table), d.Name, d.BusDevice)
	}
	if len(numbers) == 0 {
		return unknown("no interrupt has the name of the device")
	}
	slices.Sort(numbers)
	byCPU := map[string]int{}
	var parts []string
	for _, n := range numbers {
		dir := "proc/irq/" + strconv.Itoa(n)
		cpus := read(fsys, dir+"/effective_affinity_list")
		if cpus == "" {
			cpus = read(fsys, dir+"/smp_affinity_list")
		}
		if cpus == "" {
			cpus = "?"
		}
		byCPU[cpus]++
		parts = append(parts, fmt.Sprintf("%d on CPU %s", n, cpus))
	}
	if len(parts) <= maxIRQs {
		return strings.Join(parts, ", ")
	}
	var counts []string
	for _, cpus := range sorted(byCPU) {
		counts = append(counts, fmt.Sprintf("%d on CPU %s", byCPU[cpus], cpus))
	}
	return fmt.Sprintf("%d interrupts: %s", len(numbers), strings.Join(counts, ", "))
}

// named finds the numbers of the interrupts whose action has one of the names, in the text
// of /proc/interrupts: "24: 12 0 PCI-MSI 1-edge eth0-rx-0".
func named(table string, names ...string) (numbers []int) {
	for line := range strings.Lines(table) {
		number, rest, ok := strings.Cut(line, ":")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if !ok || err != nil {
			continue
		}
		for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '@' }) {
			if slices.ContainsFunc(names, func(name string) bool { return belongs(word, name) }) {
				numbers = append(numbers, n)
				break
			}
		}
	}
	return numbers
}

// belongs reports whether an interrupt's name is that of a device, or begins or ends with it
// and something that is no part of a device's name: eth0-rx-0, i40e-eth0-TxRx-1, pci:0000:3b:00.0.
func belongs(word, name string) bool {
	if name == "" {
		return false
	}
	i := strings.Index(word, name)
	if i < 0 {
		return false
	}
	edge := func(s string) bool { return s == "" || strings.ContainsAny(s, "-:.") }
	before, after := word[:i], word[i+len(name):]
	if before != "" {
		before = before[len(before)-1:]
	}
	if after != "" {
		after = after[:1]
	}
	return edge(before) && edge(after)
}
