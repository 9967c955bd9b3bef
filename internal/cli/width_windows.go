package cli

import "golang.org/x/sys/windows"

// terminalWidth is how many columns a console has; 0 if it is none.
func terminalWidth(fd uintptr) int {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(fd), &info) != nil {
		return 0
	}
	return int(info.Window.Right-info.Window.Left) + 1
}
