// Election is one candidate of client-go for a Lease. It says on standard output what it sees, one line each:
// `NANOSECONDS leading`, `NANOSECONDS stopped`, `NANOSECONDS leader IDENTITY`; the time is CLOCK_BOOTTIME, so that whoever
// started it can compare it with its own. It stops, and releases the Lease, at end of file of standard input.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file that names the server and the user")
	namespace := flag.String("namespace", "default", "the Lease's namespace")
	name := flag.String("name", "", "the Lease's name")
	identity := flag.String("identity", "", "who the candidate is")
	lease := flag.Duration("lease-duration", 15*time.Second, "as client-go's LeaseDuration")
	deadline := flag.Duration("renew-deadline", 10*time.Second, "as client-go's RenewDeadline")
	retry := flag.Duration("retry-period", 2*time.Second, "as client-go's RetryPeriod")
	klog.InitFlags(nil)
	flag.Parse()
	if err := campaign(*kubeconfig, *namespace, *name, *identity, *lease, *deadline, *retry); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func campaign(kubeconfig, namespace, name, identity string, lease, deadline, retry time.Duration) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.Timeout = deadline / 2 // as NewFromKubeconfig sets it
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	// Held while the work goes on: the process ends after it.
	var work sync.Mutex
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration:   lease,
		RenewDeadline:   deadline,
		RetryPeriod:     retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				work.Lock()
				defer work.Unlock()
				say("leading")
				<-ctx.Done()
				say("stopped")
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(leader string) { say("leader " + leader) },
		},
	})
	work.Lock()
	defer work.Unlock()
	return nil
}

func say(text string) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic(err)
	}
	fmt.Printf("%d %s\n", now.Nano(), text)
}
