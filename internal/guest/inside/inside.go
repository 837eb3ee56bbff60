// Package inside holds the tests that run in a virtual machine, with a distribution's
// kernel: those of kernel paths that the machine the tests are run on may not have. The
// drivers there are the real ones, of the program as it is built.
package inside
