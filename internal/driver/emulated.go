package driver

// Emulated is a Path that may have a part on a CPU that a program emulates.
type Emulated interface {
	// Emulated names that part and the reason, empty where a real CPU runs all of it.
	Emulated() string
}
