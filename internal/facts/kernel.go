package facts

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// kernel records the kernel and the distribution.
func (m *machine) kernel() {
	m.factFile("kernel", "proc/sys/kernel/osrelease")
	m.factFile("kernel_version", "proc/sys/kernel/version")
	m.factFileIfAny("architecture", "proc/sys/kernel/arch")
	name, err := m.distribution()
	m.factOr("distribution", name, err)
}

// distribution returns PRETTY_NAME of os-release(5).
func (sys files) distribution() (string, error) {
	text, err := sys.readText("etc/os-release")
	if errors.Is(err, fs.ErrNotExist) {
		text, err = sys.readText("usr/lib/os-release")
	}
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			if v = strings.Trim(v, `"'`); v != "" {
				return v, nil
			}
		}
	}
	return "", errors.New("os-release has no PRETTY_NAME")
}

// accounting records how the kernel accounts CPU time, which determines how accurate CPU
// metrics of short trials are.
func (m *machine) accounting() {
	config, err := m.kernelConfig()
	if err != nil {
		m.fact("cpu_accounting", unknown(err))
		m.fact("irq_time_accounting", unknown(err))
		return
	}
	sampled := "sampled by the tick"
	if hz := config["CONFIG_HZ"]; hz != "" {
		sampled += ", " + hz + " a second"
	}
	// VIRT_CPU_ACCOUNTING_GEN takes effect only on the CPUs of nohz_full, a boot parameter.
	full, err := readFile(m.fsys, sysCPU+"nohz_full")
	if err == nil && config["CONFIG_VIRT_CPU_ACCOUNTING_GEN"] == "y" && full != "(null)" {
		sampled = "exact on CPUs " + full + ", elsewhere " + sampled
	}
	if config["CONFIG_VIRT_CPU_ACCOUNTING_NATIVE"] == "y" {
		sampled = "exact"
	}
	m.fact("cpu_accounting", sampled)

	irq := "not built in"
	if config["CONFIG_IRQ_TIME_ACCOUNTING"] == "y" {
		irq = "built in"
	}
	m.fact("irq_time_accounting", irq)
}

// kernelConfig reads the kernel's build configuration from where the distribution stores
// it.
func (sys files) kernelConfig() (map[string]string, error) {
	if f, err := sys.fsys.Open("proc/config.gz"); err == nil {
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("unpack /proc/config.gz: %w", err)
		}
		return parseConfig(z)
	}
	release, err := readFile(sys.fsys, "proc/sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	for _, path := range []string{"boot/config-" + release, "lib/modules/" + release + "/config"} {
		if f, err := sys.fsys.Open(path); err == nil {
			defer f.Close()
			return parseConfig(f)
		}
	}
	return nil, fmt.Errorf("neither /proc/config.gz nor /boot/config-%s can be read", release)
}

// maxConfig limits the bytes read of a kernel configuration; real ones are a tenth of it.
const maxConfig = 4 << 20

// parseConfig parses lines such as CONFIG_HZ=250.
func parseConfig(r io.Reader) (map[string]string, error) {
	config := make(map[string]string)
	lines := bufio.NewScanner(io.LimitReader(r, maxConfig))
	for lines.Scan() {
		if k, v, ok := strings.Cut(lines.Text(), "="); ok && strings.HasPrefix(k, "CONFIG_") {
			config[k] = v
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read kernel configuration: %w", err)
	}
	if len(config) == 0 {
		return nil, errors.New("the kernel configuration is empty")
	}
	return config, nil
}

// evidence records what can be observed during trials: stacks and drop reasons.
func (m *machine) evidence() {
	for _, name := range []string{"perf_event_paranoid", "kptr_restrict"} {
		v, err := readFile(m.fsys, "proc/sys/kernel/"+name)
		if !errors.Is(err, fs.ErrNotExist) {
			m.factOr(name, "level "+v, err)
		}
	}
	_, err := fs.Stat(m.fsys, "sys/kernel/btf/vmlinux")
	if _, hidden := fs.Stat(m.fsys, "sys/kernel"); hidden != nil {
		m.fact("btf", unknown(plain("sys/kernel", hidden)))
		return
	}
	switch {
	case err == nil:
		m.fact("btf", "yes")
	case errors.Is(err, fs.ErrNotExist):
		m.fact("btf", "no: the kernel has no type information (BTF), which eBPF programs that count drops require")
	default:
		m.fact("btf", unknown(plain("sys/kernel/btf/vmlinux", err)))
	}
}
