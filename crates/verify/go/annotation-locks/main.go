// Annotation-locks writes down what client-go's locks in annotations write, alone and with a Lease as their second half: each kind is made, renewed, handed on and
// given back, against a server in memory. client-go v0.23 is the last release that has them all, hence a module of its own. The output is data of a test:
//
//	go run . > ../../../lease-election/src/kube_store/annotation/recorded.json
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type step struct {
	Lock      string                            `json:"lock"`
	Step      string                            `json:"step"`
	Record    resourcelock.LeaderElectionRecord `json:"record"`
	ConfigMap any                               `json:"configMap,omitempty"`
	Endpoints any                               `json:"endpoints,omitempty"`
	Lease     any                               `json:"lease,omitempty"`
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	at := func(second int) metav1.Time {
		return metav1.NewTime(time.Date(2022, 3, 4, 5, 6, second, 123456789, time.UTC))
	}
	record := func(holder string, seconds, acquired, renewed, transitions int) resourcelock.LeaderElectionRecord {
		return resourcelock.LeaderElectionRecord{
			HolderIdentity:       holder,
			LeaseDurationSeconds: seconds,
			AcquireTime:          at(acquired),
			RenewTime:            at(renewed),
			LeaderTransitions:    transitions,
		}
	}
	life := []struct {
		name   string
		record resourcelock.LeaderElectionRecord
	}{
		{"created", record("host_4f2c", 15, 7, 7, 0)},
		{"renewed", record("host_4f2c", 15, 7, 9, 0)},
		{"handed on", record("<pod>&\"other\"\u2028", 15, 20, 20, 1)},
		{"given back", record("", 1, 21, 21, 1)},
	}
	var steps []step
	for _, kind := range []string{"configmaps", "endpoints", "configmapsleases", "endpointsleases"} {
		client := fake.NewSimpleClientset()
		lock, err := resourcelock.New(kind, "ns", "lock", client.CoreV1(), client.CoordinationV1(),
			resourcelock.ResourceLockConfig{Identity: "host_4f2c"})
		must(err)
		ctx := context.Background()
		for i, now := range life {
			if i == 0 {
				must(lock.Create(ctx, now.record))
			} else {
				_, _, err := lock.Get(ctx)
				must(err)
				must(lock.Update(ctx, now.record))
			}
			seen := step{Lock: kind, Step: now.name, Record: now.record}
			if there, err := client.CoreV1().ConfigMaps("ns").Get(ctx, "lock", metav1.GetOptions{}); err == nil {
				seen.ConfigMap = there
			}
			if there, err := client.CoreV1().Endpoints("ns").Get(ctx, "lock", metav1.GetOptions{}); err == nil {
				seen.Endpoints = there
			}
			if there, err := client.CoordinationV1().Leases("ns").Get(ctx, "lock", metav1.GetOptions{}); err == nil {
				seen.Lease = there
			}
			steps = append(steps, seen)
		}
	}
	text, err := json.MarshalIndent(steps, "", "  ")
	must(err)
	fmt.Fprintln(os.Stdout, string(text))
}
