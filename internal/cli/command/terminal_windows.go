package command

import (
	"os"

	"golang.org/x/sys/windows"
)

// writeSignals are none: a write that fails sends no signal on this system.
func writeSignals() []os.Signal { return nil }

// Terminal returns the size of a console. It never reports colours, because older consoles
// print the codes.
func Terminal(w any) (tty bool, width, height int) {
	f, ok := File(w)
	if !ok {
		return false, 0, 0
	}
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info); err != nil {
		return false, 0, 0
	}
	return false, int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1
}

// InBackground reports that no program is stopped for reading.
func InBackground(any) bool { return false }
