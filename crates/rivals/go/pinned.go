// Where threads may run.
package main

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// allPinned keeps all threads of the program on a CPU, until what it returns is called, and no goroutine on a thread: one that is
// kept on a thread, as by pinned, hands over to another by waking the thread of that. Threads that begin meanwhile are where
// those are that begin them.
func allPinned(cpu int) func() {
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		panic(err)
	}
	one.Set(cpu)
	moveAll(&one)
	return func() { moveAll(&before) }
}

func moveAll(to *unix.CPUSet) {
	// Twice: a thread may have begun while the list was read.
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			panic(err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				panic(err)
			}
			if err := unix.SchedSetaffinity(id, to); err != nil && err != unix.ESRCH {
				panic(err)
			}
		}
	}
}

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
