package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const leaseName = "elected"

// Elect lets two candidates of client-go share a Lease: one takes it, renews it, releases it; then the other has it.
func elect(ctx context.Context, run *run) error {
	client, err := kubernetes.NewForConfig(run.config)
	if err != nil {
		return err
	}
	leases := client.CoordinationV1().Leases(run.namespace)
	read := func() (*coordinationv1.Lease, error) { return leases.Get(ctx, leaseName, metav1.GetOptions{}) }

	first := campaign(ctx, client, run.namespace, "first")
	if err := first.leads(ctx); err != nil {
		return err
	}
	taken, err := read()
	if err != nil {
		return err
	}
	if holder := *taken.Spec.HolderIdentity; holder != "first" {
		return fmt.Errorf("first leads, and the lease is held by %q", holder)
	}
	second := campaign(ctx, client, run.namespace, "second")
	err = eventually(ctx, func() error {
		now, err := read()
		if err != nil {
			return err
		}
		if !now.Spec.RenewTime.After(taken.Spec.RenewTime.Add(time.Second)) {
			return fmt.Errorf("the lease was not renewed for a second after %v", taken.Spec.RenewTime)
		}
		if !now.Spec.AcquireTime.Equal(taken.Spec.AcquireTime) || *now.Spec.LeaseTransitions != 0 {
			return fmt.Errorf("a renewal changed more than its time: %v", now.Spec)
		}
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case <-second.started:
		return fmt.Errorf("two candidates lead")
	default:
	}

	released := time.Now()
	first.stop()
	<-first.ended
	if err := second.leads(ctx); err != nil {
		return err
	}
	if took := time.Since(released); took > leaseDuration {
		return fmt.Errorf("a released lease was taken after %v only", took)
	}
	now, err := read()
	if err != nil {
		return err
	}
	if *now.Spec.HolderIdentity != "second" || *now.Spec.LeaseTransitions != 1 {
		return fmt.Errorf("second leads, and the lease says %v", now.Spec)
	}
	second.stop()
	<-second.ended
	if now, err = read(); err != nil {
		return err
	}
	if holder := now.Spec.HolderIdentity; holder != nil && *holder != "" {
		return fmt.Errorf("a released lease is held by %q", *holder)
	}
	return nil
}

const leaseDuration = 3 * time.Second

type candidate struct {
	name           string
	started, ended chan struct{}
	cancel         context.CancelFunc
	lock           *writes
}

// Writes tells when a candidate's write is under way. One that is canceled while the server applies it leaves a record
// that client-go's release does not know: the release fails with a conflict, and client-go does not repeat it.
type writes struct {
	resourcelock.Interface
	underWay sync.Mutex
}

func (w *writes) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	w.underWay.Lock()
	defer w.underWay.Unlock()
	return w.Interface.Create(ctx, record)
}

func (w *writes) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	w.underWay.Lock()
	defer w.underWay.Unlock()
	return w.Interface.Update(ctx, record)
}

// Stop cancels the campaign between two of its writes.
func (c *candidate) stop() {
	c.lock.underWay.Lock()
	defer c.lock.underWay.Unlock()
	c.cancel()
}

func campaign(ctx context.Context, client kubernetes.Interface, namespace, name string) *candidate {
	ctx, cancel := context.WithCancel(ctx)
	lock := &writes{Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}}
	c := &candidate{name, make(chan struct{}), make(chan struct{}), cancel, lock}
	go func() {
		defer close(c.ended)
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock:            lock,
			LeaseDuration:   leaseDuration,
			RenewDeadline:   2 * time.Second,
			RetryPeriod:     250 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) { close(c.started); <-ctx.Done() },
				OnStoppedLeading: func() {},
			},
		})
	}()
	return c
}

func (c *candidate) leads(ctx context.Context) error {
	select {
	case <-c.started:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s does not lead", c.name)
	}
}
