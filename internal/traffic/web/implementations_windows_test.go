package web

// implementations lists the one of this system.
func implementations() []path { return []path{fastest()} }
