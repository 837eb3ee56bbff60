//go:build windows

// Command windowsshell starts cmd as the ssh server of Windows does for a command: with the command,
// unchanged, in double quotes. Wine's own loader would escape the quotes in it. The command is in
// an environment variable.
package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	const shell = `C:\windows\system32\cmd.exe`
	cmd := exec.Command(shell)
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: shell + ` /c "` + os.Getenv("TARE_TEST_COMMAND") + `"`}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		panic(err)
	}
}
