// The queue as controllers have it: with metrics, as controller-runtime installs them.
package main

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// burstMeasured is burst on a queue with a name and Prometheus metrics.
func burstMeasured(keys []int64, operations int) []float64 {
	config := workqueue.TypedQueueConfig[int64]{Name: "measured", MetricsProvider: provider()}
	queue := workqueue.NewTypedWithConfig(config)
	defer queue.ShutDown()
	return bursts(queue, keys, operations, same[int64])
}

// vectors is a provider in the shape of controller-runtime's: vectors with the labels name and controller; with the buckets of
// component-base, as ours has.
type vectors struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, work              *prometheus.HistogramVec
}

var provider = sync.OnceValue(func() *vectors {
	labels := []string{"name", "controller"}
	gauge := func(name string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: "workqueue", Name: name, Help: name}, labels)
	}
	counter := func(name string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "workqueue", Name: name, Help: name}, labels)
	}
	histogram := func(name string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: "workqueue", Name: name, Help: name, Buckets: prometheus.ExponentialBuckets(1e-6, 10, 10),
		}, labels)
	}
	made := &vectors{
		depth: gauge("depth"), unfinished: gauge("unfinished_work_seconds"),
		longest: gauge("longest_running_processor_seconds"), adds: counter("adds_total"),
		retries: counter("retries_total"), latency: histogram("queue_duration_seconds"),
		work: histogram("work_duration_seconds"),
	}
	prometheus.NewRegistry().MustRegister(
		made.depth, made.unfinished, made.longest, made.adds, made.retries, made.latency, made.work)
	return made
})

func (v *vectors) NewDepthMetric(name string) workqueue.GaugeMetric {
	return v.depth.WithLabelValues(name, name)
}

func (v *vectors) NewAddsMetric(name string) workqueue.CounterMetric {
	return v.adds.WithLabelValues(name, name)
}

func (v *vectors) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return v.latency.WithLabelValues(name, name)
}

func (v *vectors) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return v.work.WithLabelValues(name, name)
}

func (v *vectors) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return v.unfinished.WithLabelValues(name, name)
}

func (v *vectors) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return v.longest.WithLabelValues(name, name)
}

func (v *vectors) NewRetriesMetric(name string) workqueue.CounterMetric {
	return v.retries.WithLabelValues(name, name)
}
