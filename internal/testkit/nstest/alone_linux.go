package nstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"tare/internal/linuxnet"
)

// alone is set in the network namespace of Alone.
const alone = "TARE_TEST_ALONE"

// Alone is Enter, and runs this test program in a network namespace of its own, if it can create one: a port that a
// test has found free is then not taken by a program of other tests. While fuzzing it runs where it is.
func Alone() {
	Enter()
	switch {
	case os.Getenv(alone) != "":
		ns, err := linuxnet.OpenNS("tests", "/proc/self/ns/net")
		if err == nil {
			err = errors.Join(ns.Links().Up("lo"), ns.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.fuzz") }), linuxnet.Try() != nil:
		return
	}
	runtime.LockOSThread() // the program ends with the thread that started it
	cmd := exec.CommandContext(context.Background(), "/proc/self/exe", os.Args[1:]...)
	cmd.Args[0], cmd.Env = os.Args[0], append(os.Environ(), alone+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || !exit.Exited()) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}
