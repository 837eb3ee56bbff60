package labdriver

// LinuxOnly is embedded in a driver, for which it says on other systems that none of its modes can be
// built there.
type LinuxOnly struct{}
