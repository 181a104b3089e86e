// Workloads of several threads, and of goroutines that wait.
package main

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// contended has producers and consumers on threads of their own, pinned so that each CPU has as many of both: all items
// are distinct. Nanoseconds an item, and the 99th and 99.9th percentile of one Add.
func contended(producers, consumers, items int) []float64 {
	queue := workqueue.NewTyped[int64]()
	begun := make(chan struct{})
	each := items / producers
	var adding, taking sync.WaitGroup
	spans := make([][]int64, producers)
	cpus := runtime.NumCPU()
	for producer := range producers {
		spans[producer] = make([]int64, 0, each)
		adding.Go(func() {
			defer pinned(producer % cpus)()
			<-begun
			for at := range each {
				before := time.Now()
				queue.Add(int64(producer*each + at))
				spans[producer] = append(spans[producer], time.Since(before).Nanoseconds())
			}
		})
	}
	for consumer := range consumers {
		taking.Go(func() {
			defer pinned(consumer % cpus)()
			for {
				item, shutdown := queue.Get()
				if shutdown {
					return
				}
				queue.Done(item)
			}
		})
	}
	runtime.GC()
	begin := time.Now()
	close(begun)
	adding.Wait()
	queue.ShutDown()
	taking.Wait()
	took := time.Since(begin)
	all := slices.Concat(spans...)
	slices.Sort(all)
	at := func(share float64) float64 { return float64(all[int(share*float64(len(all)-1))]) }
	return []float64{float64(took.Nanoseconds()) / float64(each*producers), at(0.99), at(0.999)}
}

// waiting has many goroutines on one CPU that wait for items, which come in bursts.
func waiting(waiters, items, bursts int) []float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer pinned(0)()
	queue := workqueue.NewTyped[int64]()
	left := 0
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
				// One thread runs them all, and nothing in between gives it away.
				if left--; left == 0 {
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
		left = items
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
