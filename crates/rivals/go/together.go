// Workloads of several threads, and of goroutines that wait.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// contended has producers and consumers on threads of their own; all items are distinct. Nanoseconds an item. Pinned,
// each CPU has as many producers and consumers as the others.
func contended(producers, consumers, items int) []float64 {
	queue := workqueue.NewTyped[int64]()
	begun := make(chan struct{})
	each := items / producers
	var ready, adding, taking sync.WaitGroup
	ready.Add(producers + consumers)
	cpus := runtime.NumCPU()
	for producer := range producers {
		adding.Go(func() {
			defer pinned(producer % cpus)()
			ready.Done()
			<-begun
			for at := range each {
				queue.Add(int64(producer*each + at))
			}
		})
	}
	for consumer := range consumers {
		taking.Go(func() {
			defer pinned((consumer + 1) % cpus)()
			ready.Done()
			<-begun
			for {
				item, shutdown := queue.Get()
				if shutdown {
					return
				}
				queue.Done(item)
			}
		})
	}
	ready.Wait()
	runtime.GC()
	begin := time.Now()
	close(begun)
	adding.Wait()
	queue.ShutDown()
	taking.Wait()
	return []float64{float64(time.Since(begin).Nanoseconds()) / float64(each*producers)}
}

// waiting has many goroutines that wait for items, which come in bursts. Nanoseconds an item. On one CPU they are pinned
// to it.
func waiting(cpus, waiters, items, bursts int) []float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cpus))
	if cpus == 1 {
		defer pinned(0)()
	}
	queue := workqueue.NewTyped[int64]()
	var left atomic.Int64
	all := make(chan struct{})
	var ended sync.WaitGroup
	for range waiters {
		ended.Go(func() {
			for {
				item, shutdown := queue.Get()
				if shutdown {
					return
				}
				queue.Done(item)
				if left.Add(-1) == 0 {
					all <- struct{}{}
				}
			}
		})
	}
	for range 10 {
		runtime.Gosched()
	}
	begin := time.Now()
	for range bursts {
		left.Store(int64(items))
		for item := range items {
			queue.Add(int64(item))
		}
		<-all
	}
	took := time.Since(begin)
	queue.ShutDown()
	ended.Wait()
	return []float64{float64(took.Nanoseconds()) / float64(items*bursts)}
}
