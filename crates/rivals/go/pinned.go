// Where a thread may run.
package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// pinned keeps the calling goroutine on a thread and that thread on a CPU, until what it returns is called.
func pinned(cpu int) func() {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		panic(err)
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		panic(err)
	}
	return func() {
		if err := unix.SchedSetaffinity(0, &before); err != nil {
			panic(err)
		}
		runtime.UnlockOSThread()
	}
}
