// What client-go's limiters answer, to the nanosecond: the data of wq-ratelimit's tests, printed by `go run . limits`.
package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
)

type limiter = workqueue.TypedRateLimiter[string]

// clocked is client-go's bucket limiter at a time that is given: the same reservation of the same bucket.
type clocked struct {
	bucket *rate.Limiter
	now    *time.Time
}

func (c clocked) When(string) time.Duration {
	return c.bucket.ReserveN(*c.now, 1).DelayFrom(*c.now)
}

func (clocked) NumRequeues(string) int { return 0 }
func (clocked) Forget(string)          {}

// recordLimits prints a line for each limiter: its name and numbers, then `at:delay` of each call, in nanoseconds. The calls
// of a line are about one item.
func recordLimits() {
	fmt.Println("# k8s.io/client-go v0.37.2, golang.org/x/time v0.15.0: `go run . limits` in crates/rivals/go")
	for _, numbers := range [][2]int64{
		{5e6, 1000e9}, {1e6, 1000e9}, {1e6, 1e9}, {60e9, 3600e12}, {15e9, 1000e9}, {15e9, 15e9}, {1, math.MaxInt64},
		{2, math.MaxInt64}, {3, math.MaxInt64}, {1 << 20, math.MaxInt64}, {123456789, math.MaxInt64}, {0, 1000e9},
		{math.MaxInt64, math.MaxInt64}, {1<<53 + 1, math.MaxInt64},
	} {
		base, longest := time.Duration(numbers[0]), time.Duration(numbers[1])
		made := workqueue.NewTypedItemExponentialFailureRateLimiter[string](base, longest)
		record(fmt.Sprint("exponential ", numbers[0], " ", numbers[1]), made, nil, make([]time.Duration, 1100))
	}
	for _, numbers := range [][3]int64{{5e6, 10e9, 3}, {5e6, 10e9, 0}, {0, 1, 1}} {
		fast, slow := time.Duration(numbers[0]), time.Duration(numbers[1])
		made := workqueue.NewTypedItemFastSlowRateLimiter[string](fast, slow, int(numbers[2]))
		record(fmt.Sprint("fast-slow ", numbers[0], " ", numbers[1], " ", numbers[2]), made, nil, make([]time.Duration, 6))
	}
	quick := func() limiter { return workqueue.NewTypedItemFastSlowRateLimiter[string](5e6, 3e9, 3) }
	slow := workqueue.NewTypedItemExponentialFailureRateLimiter[string](1e6, 1e9)
	record("max-of", workqueue.NewTypedMaxOfRateLimiter(quick(), slow), nil, make([]time.Duration, 16))
	record("with-max-wait", workqueue.NewTypedWithMaxWaitRateLimiter(quick(), 2e9), nil, make([]time.Duration, 6))
	for _, bucket := range [][2]int64{{10, 100}, {1000, 1}, {1, 1}, {3, 5}, {7, 2}} {
		for _, gaps := range [][]time.Duration{make([]time.Duration, 300), gaps()} {
			now := time.Unix(1e9, 0)
			made := clocked{rate.NewLimiter(rate.Limit(bucket[0]), int(bucket[1])), &now}
			record(fmt.Sprint("bucket ", bucket[0], " ", bucket[1]), made, &now, gaps)
		}
	}
	now := time.Unix(1e9, 0)
	backOff := workqueue.NewTypedItemExponentialFailureRateLimiter[string](5e6, 1000e9)
	pair := workqueue.NewTypedMaxOfRateLimiter[string](backOff, clocked{rate.NewLimiter(10, 100), &now})
	record("default-controller", pair, &now, make([]time.Duration, 300))
}

// gaps are 0 to 400 ms, in whole milliseconds, from a small generator of its own.
func gaps() []time.Duration {
	var drawn []time.Duration
	state := uint32(7)
	for range 300 {
		state = state*1664525 + 1013904223
		drawn = append(drawn, time.Duration(state>>16%401)*time.Millisecond)
	}
	return drawn
}

func record(name string, made limiter, now *time.Time, gaps []time.Duration) {
	var calls []string
	at := time.Duration(0)
	for _, gap := range gaps {
		at += gap
		if now != nil {
			*now = now.Add(gap)
		}
		calls = append(calls, fmt.Sprint(int64(at), ":", int64(made.When("item"))))
	}
	fmt.Println(name, "=", strings.Join(shortened(calls), " "))
}

// shortened writes what repeats once, with the number of times.
func shortened(calls []string) []string {
	var short []string
	for begin := 0; begin < len(calls); {
		end := begin
		for end < len(calls) && calls[end] == calls[begin] {
			end++
		}
		short = append(short, fmt.Sprint(calls[begin], "*", end-begin))
		begin = end
	}
	return short
}
