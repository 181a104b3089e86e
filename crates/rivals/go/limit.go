// Rate limiters, and the queue that has one.
package main

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
)

// backOff asks the exponential limiter five times about each key and forgets it, again and again; nanoseconds a call.
func backOff[T comparable](keys []T, calls int) []float64 {
	const times = 5
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[T](5*time.Millisecond, 1000*time.Second)
	each := max(calls/((times+1)*len(keys)), 1)
	return alone(each*(times+1)*len(keys), func() {
		for range each {
			for _, key := range keys {
				for range times {
					limiter.When(key)
				}
				limiter.Forget(key)
			}
		}
	})
}

func bucket() *workqueue.TypedBucketRateLimiter[int64] {
	return &workqueue.TypedBucketRateLimiter[int64]{Limiter: rate.NewLimiter(10, 100)}
}

// tokens takes tokens of one bucket, which reads the clock for each; nanoseconds a call.
func tokens(calls int) []float64 {
	limiter := bucket()
	return alone(calls, func() {
		for range calls {
			limiter.When(0)
		}
	})
}

// tokensTogether does that with threads that are pinned; nanoseconds a call of all.
func tokensTogether(threads, calls int) []float64 {
	limiter := bucket()
	begun := make(chan struct{})
	var ready, taking sync.WaitGroup
	ready.Add(threads)
	cpus := runtime.NumCPU()
	for thread := range threads {
		taking.Go(func() {
			defer pinned(thread % cpus)()
			ready.Done()
			<-begun
			for range calls / threads {
				limiter.When(0)
			}
		})
	}
	ready.Wait()
	runtime.GC()
	begin := time.Now()
	close(begun)
	taking.Wait()
	return []float64{float64(time.Since(begin).Nanoseconds()) / float64(calls/threads*threads)}
}
