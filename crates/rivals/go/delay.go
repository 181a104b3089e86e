// Workloads of the delaying queue, pinned to one CPU: what is added is counted until the queue's own goroutine has it in its
// heap.
package main

import (
	"math/rand"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// delays are up to a minute, the same in each run.
func delays(count int) []time.Duration {
	source := rand.New(rand.NewSource(1))
	made := make([]time.Duration, count)
	for i := range made {
		made[i] = time.Duration(1 + source.Int63n(int64(time.Minute)))
	}
	return made
}

// addAfter delays all keys. The last add is due at once, comes after all others through the queue's channel, and is got when
// they are in the heap.
func addAfter(keys []int64) []float64 {
	delays := delays(len(keys))
	for i := range delays {
		delays[i] += time.Hour // None may become due meanwhile.
	}
	queue := workqueue.NewTypedDelayingQueue[int64]()
	defer queue.ShutDown()
	return alone(len(keys), func() {
		for i, key := range keys {
			queue.AddAfter(key, delays[i])
		}
		queue.AddAfter(-1, time.Nanosecond)
		item, _ := queue.Get()
		queue.Done(item)
	})
}
