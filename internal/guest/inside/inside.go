// Package inside has tests that run in a virtual machine with a distribution's kernel, for kernel
// paths that the machine running the tests may lack, and for machines with different kernels, of
// which ssh reaches one. They use the real drivers of the program as built.
package inside
