package main

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// Crud calls every verb of the typed clients on some kinds, over two connections' worth of media types.
func crud(ctx context.Context, run *run) error {
	client, err := kubernetes.NewForConfig(run.config)
	if err != nil {
		return err
	}
	configMaps := tryKind(ctx, "ConfigMap", client.CoreV1().ConfigMaps(run.namespace), &corev1.ConfigMap{})
	if configMaps != nil {
		return configMaps
	}
	claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		},
	}}
	claims := client.CoreV1().PersistentVolumeClaims(run.namespace)
	if err := tryKind(ctx, "PersistentVolumeClaim", claims, claim); err != nil {
		return err
	}
	holder, seconds := "somebody", int32(15)
	lease := &coordinationv1.Lease{
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds},
	}
	leases := client.CoordinationV1().Leases(run.namespace)
	if err := tryKind(ctx, "Lease", leases, lease); err != nil {
		return err
	}
	if err := tryKind(ctx, "Namespace", client.CoreV1().Namespaces(), &corev1.Namespace{}); err != nil {
		return err
	}
	fmt.Println(run.traffic)
	return nil
}

// What all typed clients have in common.
type typed[T, L any] interface {
	Create(context.Context, *T, metav1.CreateOptions) (*T, error)
	Update(context.Context, *T, metav1.UpdateOptions) (*T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	Get(context.Context, string, metav1.GetOptions) (*T, error)
	List(context.Context, metav1.ListOptions) (*L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*T, error)
}

// All but the one of Namespaces.
type collection interface {
	DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
}

const label = "clients-crud"

func tryKind[T, L any](ctx context.Context, kind string, api typed[T, L], template *T) error {
	if err := everyVerb(ctx, api, template); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

func everyVerb[T, L any](ctx context.Context, api typed[T, L], template *T) error {
	const count = 7
	names := make([]string, count)
	selected := metav1.ListOptions{LabelSelector: label + "=yes"}
	var first *T
	for i := range names {
		names[i] = fmt.Sprintf("crud-%d", i)
		object := *template
		about(&object).SetName(names[i])
		about(&object).SetLabels(map[string]string{label: "yes"})
		created, err := api.Create(ctx, &object, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create: %w", err)
		}
		if about(created).GetUID() == "" || about(created).GetResourceVersion() == "" {
			return fmt.Errorf("create: no uid or no resource version in %v", created)
		}
		if first == nil {
			first = created
		}
	}
	again := *template
	about(&again).SetName(names[0])
	if _, err := api.Create(ctx, &again, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("a second create of one name: %w", err)
	}
	if _, err := api.Get(ctx, "nobody", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("a get of nothing: %w", err)
	}
	version, err := pages(ctx, api, selected, count)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}

	options := selected
	options.ResourceVersion = version
	events, err := api.Watch(ctx, options)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer events.Stop()

	changed, err := api.Get(ctx, names[0], metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	about(changed).SetAnnotations(map[string]string{"by": "update"})
	if _, err := api.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	// Still at the version of its creation.
	about(first).SetAnnotations(map[string]string{"by": "a stale update"})
	if _, err := api.Update(ctx, first, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("a stale update: %w", err)
	}
	patches := []struct {
		by    types.PatchType
		patch string
	}{
		{types.JSONPatchType, `[{"op":"replace","path":"/metadata/annotations/by","value":"json"}]`},
		{types.MergePatchType, `{"metadata":{"annotations":{"by":"merge"}}}`},
		{types.StrategicMergePatchType, `{"metadata":{"annotations":{"by":"strategic"}}}`},
	}
	for _, patch := range patches {
		patched, err := api.Patch(ctx, names[0], patch.by, []byte(patch.patch), metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("patch by %s: %w", patch.by, err)
		}
		if by := about(patched).GetAnnotations()["by"]; "application/"+by+"-merge-patch+json" != string(patch.by) &&
			"application/"+by+"-patch+json" != string(patch.by) {
			return fmt.Errorf("patch by %s: the annotation is %q", patch.by, by)
		}
	}
	uid := about(first).GetUID() + "-not"
	err = api.Delete(ctx, names[0], metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("a delete of another uid: %w", err)
	}
	if err := api.Delete(ctx, names[0], metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if _, isNamespace := any(template).(*corev1.Namespace); isNamespace {
		// Nobody need be there who empties it: it may stay, and is on its way.
		return told(events, names[0], watch.Modified, watch.Modified, watch.Modified, watch.Modified, watch.Modified)
	}
	err = told(events, names[0], watch.Modified, watch.Modified, watch.Modified, watch.Modified, watch.Deleted)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	if err := api.(collection).DeleteCollection(ctx, metav1.DeleteOptions{}, selected); err != nil {
		return fmt.Errorf("deletecollection: %w", err)
	}
	if _, err := pages(ctx, api, selected, 0); err != nil {
		return fmt.Errorf("list after deletecollection: %w", err)
	}
	return nil
}

// Pages reads a list in pages of three and returns its resource version.
func pages[T, L any](ctx context.Context, api typed[T, L], options metav1.ListOptions, want int) (string, error) {
	options.Limit = 3
	names := map[string]bool{}
	version := ""
	for {
		list, err := api.List(ctx, options)
		if err != nil {
			return "", err
		}
		page, err := meta.ListAccessor(list)
		if err != nil {
			return "", err
		}
		if version == "" {
			version = page.GetResourceVersion()
		} else if version != page.GetResourceVersion() {
			return "", fmt.Errorf("pages of versions %s and %s", version, page.GetResourceVersion())
		}
		err = meta.EachListItem(any(list).(runtime.Object), func(item runtime.Object) error {
			names[about(item).GetName()] = true
			return nil
		})
		if err != nil {
			return "", err
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			break
		}
	}
	if len(names) != want {
		return "", fmt.Errorf("%d objects instead of %d: %v", len(names), want, names)
	}
	return version, nil
}

// Told reads the events of one object, in order and without a gap.
func told(events watch.Interface, name string, want ...watch.EventType) error {
	for i, wanted := range want {
		event, open := <-events.ResultChan()
		if !open {
			return fmt.Errorf("ended after %d of %d events", i, len(want))
		}
		if event.Type != wanted || about(event.Object).GetName() != name {
			return fmt.Errorf("event %d is %s of %v instead of %s of %s", i, event.Type, event.Object, wanted, name)
		}
	}
	return nil
}

func about(object any) metav1.Object {
	accessor, err := meta.Accessor(object)
	if err != nil {
		panic(err)
	}
	return accessor
}
