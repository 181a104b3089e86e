package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// client-go's defaults.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// elections measures three candidates of client-go at its defaults on a real API server, and prints "hand_over MEAN P50 MAX", in
// milliseconds from a cancelled leader to the start of the next one's work, "crash MEAN MAX", in seconds from a leader of which nothing is
// heard any more, on eight Leases, and "requests COUNT", an hour, of all three while nothing happens. Its arguments: kubeconfig, namespace,
// hand-overs, crashes on each Lease, seconds to count for.
func elections(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("elections takes 5 arguments, not %d", len(args))
	}
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	each, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	seconds, err := strconv.Atoi(args[4])
	if err != nil {
		return err
	}
	quiet := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(quiet)
	if err := errors.Join(quiet.Set("logtostderr", "false"), quiet.Set("stderrthreshold", "FATAL")); err != nil {
		return err
	}
	klog.SetOutput(io.Discard)
	counted := make(chan error, 1)
	go func() {
		counted <- countRequests(config, args[1], time.Duration(seconds)*time.Second)
	}()
	if err := handOver(config, args[1], count); err != nil {
		return err
	}
	if err := crash(config, args[1], each); err != nil {
		return err
	}
	return <-counted
}

type candidate struct {
	requests atomic.Int64
	crashed  atomic.Bool
	cancel   context.CancelFunc
	done     chan struct{}
}

type beginning struct {
	who *candidate
	at  time.Time
}

// wrap counts the requests of a candidate, until it has crashed.
func (c *candidate) wrap(next http.RoundTripper) http.RoundTripper {
	return counting{next, c}
}

type counting struct {
	next http.RoundTripper
	of   *candidate
}

var errCrashed = errors.New("crashed")

func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	if c.of.crashed.Load() {
		return nil, errCrashed
	}
	c.of.requests.Add(1)
	return c.next.RoundTrip(request)
}

func stand(config *rest.Config, namespace, name, identity string, began chan<- beginning) (*candidate, error) {
	one := &candidate{done: make(chan struct{})}
	own := rest.CopyConfig(config)
	own.Timeout = renewDeadline / 2 // as NewFromKubeconfig sets it
	own.Wrap(one.wrap)
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration:   leaseDuration,
		RenewDeadline:   renewDeadline,
		RetryPeriod:     retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { began <- beginning{one, time.Now()} },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	one.cancel = cancel
	go func() {
		elector.Run(ctx)
		close(one.done)
	}()
	return one, nil
}

// contest has three candidates stand for one Lease: who begins to lead is told, and another stands for each that is gone.
func contest(config *rest.Config, namespace, name string) (began chan beginning, another func() error, err error) {
	began = make(chan beginning, 8)
	started := 0
	another = func() error {
		started++
		_, err := stand(config, namespace, name, strconv.Itoa(started), began)
		return err
	}
	for range 3 {
		if err := another(); err != nil {
			return nil, nil, err
		}
	}
	return began, another, nil
}

func handOver(config *rest.Config, namespace string, count int) error {
	began, another, err := contest(config, namespace, "client-go-hand-over")
	if err != nil {
		return err
	}
	leader := <-began
	took := make([]float64, 0, count)
	for range count {
		// The others poll; at any moment of theirs.
		time.Sleep(retryPeriod + time.Duration(rand.Int63n(int64(retryPeriod))))
		stopped := time.Now()
		leader.who.cancel()
		next := <-began
		took = append(took, float64(next.at.Sub(stopped).Microseconds())/1e3)
		<-leader.who.done
		if err := another(); err != nil {
			return err
		}
		leader = next
	}
	sum := 0.0
	for _, one := range took {
		sum += one
	}
	slices.Sort(took)
	fmt.Printf("hand_over %f %f %f\n", sum/float64(count), took[count/2], took[count-1])
	return nil
}

// leases is on how many crash measures at a time.
const leases = 8

func crash(config *rest.Config, namespace string, each int) error {
	type result struct {
		took []float64
		err  error
	}
	results := make(chan result, leases)
	for lease := range leases {
		go func() {
			took, err := crashes(config, namespace, "client-go-crash-"+strconv.Itoa(lease), each)
			results <- result{took, err}
		}()
	}
	sum, most := 0.0, 0.0
	for range leases {
		one := <-results
		if one.err != nil {
			return one.err
		}
		for _, seconds := range one.took {
			sum += seconds
			most = max(most, seconds)
		}
	}
	fmt.Printf("crash %f %f\n", sum/float64(leases*each), most)
	return nil
}

func crashes(config *rest.Config, namespace, name string, each int) ([]float64, error) {
	began, another, err := contest(config, namespace, name)
	if err != nil {
		return nil, err
	}
	leader := <-began
	took := make([]float64, 0, each)
	for range each {
		// It has renewed, and the others have seen it; at any moment between two renewals.
		time.Sleep(retryPeriod + time.Duration(rand.Int63n(int64(retryPeriod))))
		crashed := time.Now()
		leader.who.crashed.Store(true)
		leader.who.cancel()
		next := <-began
		took = append(took, next.at.Sub(crashed).Seconds())
		if err := another(); err != nil {
			return nil, err
		}
		leader = next
	}
	return took, nil
}

func countRequests(config *rest.Config, namespace string, span time.Duration) error {
	began := make(chan beginning, 8)
	var all []*candidate
	for i := range 3 {
		one, err := stand(config, namespace, "client-go-requests", strconv.Itoa(i), began)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	<-began
	// All have found their pace.
	time.Sleep(3 * retryPeriod)
	sum := func() (requests int64) {
		for _, one := range all {
			requests += one.requests.Load()
		}
		return requests
	}
	before, since := sum(), time.Now()
	time.Sleep(span)
	fmt.Printf("requests %f\n", float64(sum()-before)/time.Since(since).Hours())
	return nil
}
