package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// writeSignals are none: a write that fails sends no signal on this system.
func writeSignals() []os.Signal { return nil }

// terminal returns the size of a console. It never reports colours, because older consoles
// print the codes.
func terminal(w any) (tty bool, width, height int) {
	f, ok := file(w)
	if !ok {
		return false, 0, 0
	}
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info); err != nil {
		return false, 0, 0
	}
	return false, int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1
}

// inBackground reports that no program is stopped for reading.
func inBackground(any) bool { return false }
