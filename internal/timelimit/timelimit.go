// Package timelimit scales the time limits by which tare notices that something hangs. Such a limit decides
// nothing that is measured: it only ends a wait that would not end by itself, so a longer one does no harm.
package timelimit

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Variable is the environment variable with the factor of all limits, a whole number from 1 to 100. Tests set
// it, because a machine that compiles beside them may not schedule a process for many seconds.
const Variable = "TARE_TIMEOUT_SCALE"

// emulated is the factor where QEMU emulates the CPU, which is then about 20 times slower than a real one. The
// limits for a real one allow for a busy machine already.
const emulated = 4

// Scaled returns a limit for this machine and this environment, given the limit d for a real CPU.
func Scaled(d time.Duration) time.Duration {
	return time.Duration(max(fromEnv(os.Getenv(Variable)), ofCPU())) * d
}

var ofCPU = sync.OnceValue(func() int { return factorOf("/proc/cpuinfo") })

// flag precedes the factor among the arguments of a program of tare.
const flag = "--timeout-scale"

// Arguments returns the last arguments of a program of tare that is started where it does not inherit the
// environment: in a container, a pod, a guest or on another machine. It returns none if the environment
// sets no factor.
func Arguments() []string {
	if n := fromEnv(os.Getenv(Variable)); n > 1 {
		return []string{flag, strconv.Itoa(n)}
	}
	return nil
}

// FromArguments sets the factor of this program to that of its last arguments, if they are those of
// Arguments. The program then passes it on to those that it starts.
func FromArguments(args []string) error {
	if n := len(args); n >= 2 && args[n-2] == flag {
		return os.Setenv(Variable, args[n-1])
	}
	return nil
}

// fromEnv returns the factor that the environment gives, or 1. A value that is no such number is ignored:
// every limit reads it, and none could report it.
func fromEnv(value string) int {
	if value == "" { // the usual case, without the allocation of an error
		return 1
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 100 {
		return 1
	}
	return n
}

// factorOf returns the factor of the CPU that a file describes. A CPU whose model name contains QEMU is
// emulated, or KVM uses QEMU's name.
func factorOf(cpuinfo string) int {
	f, err := os.Open(cpuinfo)
	if err != nil {
		return 1
	}
	defer f.Close()
	text := make([]byte, 1024) // the first CPU's entry; reading all of them is slow on a large machine
	n, _ := f.Read(text)       // if it cannot be read, no CPU is found
	for line := range strings.Lines(string(text[:n])) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "model name" && strings.Contains(value, "QEMU") {
			return emulated
		}
	}
	return 1
}
