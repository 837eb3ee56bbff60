// Package procpath is shared by modes that are built in a lab and have their own processes:
// it declares, monitors and ends these processes.
package procpath
