// Workloads of one thread, pinned to one CPU.
package main

import (
	"runtime"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// alone pins the calling goroutine and all of the program to the first CPU, runs, and answers nanoseconds an item.
func alone(items int, run func()) []float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer pinned(0)()
	runtime.GC()
	begin := time.Now()
	run()
	return []float64{float64(time.Since(begin).Nanoseconds()) / float64(items)}
}

func take[T comparable](queue workqueue.TypedInterface[T]) {
	item, _ := queue.Get()
	queue.Done(item)
}

// ping adds an item, gets it and is done with it, one after the other.
func ping[T comparable](keys []T, operations int) []float64 {
	queue := workqueue.NewTyped[T]()
	defer queue.ShutDown()
	return alone(operations, func() {
		for at := 0; at < operations; at++ {
			queue.Add(keys[at%len(keys)])
			take(queue)
		}
	})
}

// burst adds all keys, then takes them all, again and again.
func burst[T comparable](keys []T, operations int, clone func(T) T) []float64 {
	queue := workqueue.NewTyped[T]()
	defer queue.ShutDown()
	return bursts(queue, keys, operations, clone)
}

func bursts[T comparable](queue workqueue.TypedInterface[T], keys []T, operations int, clone func(T) T) []float64 {
	each := max(operations/len(keys), 1)
	return alone(each*len(keys), func() {
		for range each {
			for _, key := range keys {
				queue.Add(clone(key))
			}
			for range keys {
				take(queue)
			}
		}
	})
}

// fresh is one burst on a queue that has held nothing before.
func fresh[T comparable](keys []T, clone func(T) T) []float64 {
	return burst(keys, len(keys), clone)
}

// reused is one burst on a queue that has held as much before.
func reused[T comparable](keys []T) []float64 {
	queue := workqueue.NewTyped[T]()
	defer queue.ShutDown()
	bursts(queue, keys, len(keys), same[T])
	return bursts(queue, keys, len(keys), same[T])
}

// duplicates adds each key ten times before it is taken, the other keys in between; nanoseconds an add.
func duplicates[T comparable](keys []T, adds int) []float64 {
	queue := workqueue.NewTyped[T]()
	defer queue.ShutDown()
	const times = 10
	each := max(adds/(times*len(keys)), 1)
	return alone(each*times*len(keys), func() {
		for range each {
			for range times {
				for _, key := range keys {
					queue.Add(key)
				}
			}
			for range keys {
				take(queue)
			}
		}
	})
}

// readd adds each item again while it is processed: get, add, done.
func readd[T comparable](keys []T, operations int) []float64 {
	queue := workqueue.NewTyped[T]()
	defer queue.ShutDown()
	for _, key := range keys {
		queue.Add(key)
	}
	return alone(operations, func() {
		for range operations {
			item, _ := queue.Get()
			queue.Add(item)
			queue.Done(item)
		}
	})
}
