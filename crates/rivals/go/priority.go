// Workloads of one goroutine on controller-runtime's priority queue, whose own goroutines hand every item over, on one CPU.
package main

import (
	"runtime"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// together runs on one CPU with all goroutines of the queue, and answers nanoseconds an item. They hand over without waking a
// thread, which is as fast as they can: slower are two CPUs, and much slower a goroutine that is kept on its thread.
func together(items int, run func()) []float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer allPinned(0)()
	runtime.GC()
	begin := time.Now()
	run()
	return []float64{float64(time.Since(begin).Nanoseconds()) / float64(items)}
}

var priorities = [3]int{-100, 0, 100}

func addWithPriority(queue priorityqueue.PriorityQueue[int64], key int64) {
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priorities[key%3]}, key)
}

// prioritised adds all keys, each with one of three priorities, then takes them all, again and again. Without a name the queue
// has no metrics.
func prioritised(keys []int64, operations int, name string) []float64 {
	queue := priorityqueue.New[int64](name)
	defer queue.ShutDown()
	each := max(operations/len(keys), 1)
	return together(each*len(keys), func() {
		for range each {
			for _, key := range keys {
				addWithPriority(queue, key)
			}
			for range keys {
				key, _, _ := queue.GetWithPriority()
				queue.Done(key)
			}
		}
	})
}

// besideReadded adds a key, gets it and is done with it, one after the other, while so many others are in flight and
// have been added again.
func besideReadded(inFlight, operations int) []float64 {
	queue := priorityqueue.New[int64]("")
	defer queue.ShutDown()
	for key := range int64(inFlight) {
		addWithPriority(queue, key)
	}
	for range inFlight {
		queue.GetWithPriority()
	}
	for key := range int64(inFlight) {
		addWithPriority(queue, key)
	}
	return together(operations, func() {
		for at := range int64(operations) {
			addWithPriority(queue, int64(inFlight)+at%1000)
			key, _, _ := queue.GetWithPriority()
			queue.Done(key)
		}
	})
}
