// Exercises an API server through client-go, as controllers do, and prints one line for each promise kept.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The namespace to work in, which must not exist yet.
var namespace = os.Args[2]

func main() {
	if os.Args[1] == "in-cluster" {
		inCluster()
		return
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must(err)
	config.QPS, config.Burst = 1000, 1000
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	client := kubernetes.NewForConfigOrDie(protobuf(config))
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(err)
	typedClient(ctx, client)
	informer(ctx, client)
	metadataInformer(ctx, config, client)
	dynamicClient(ctx, config)
	future(ctx, client)
	serverSideApply(ctx, client)
	paging(ctx, client)
	leaderElection(ctx, client)
}

// inCluster reads as an operator in a Pod does: by the token at the fixed path, and by nothing else.
func inCluster() {
	os.Unsetenv("KUBECONFIG")
	config, err := rest.InClusterConfig()
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	client := kubernetes.NewForConfigOrDie(config)
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	must(err)
	fmt.Println(review.Status.UserInfo.Username)
	_, err = client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	check("allowed by its Role", err == nil)
	_, err = client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	check("refused otherwise", apierrors.IsForbidden(err))
	own, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	must(err)
	fmt.Println(string(own), os.Getenv("POD_NAME"), os.Getuid())
}

// protobuf is what typed clients use by default.
func protobuf(config *rest.Config) *rest.Config {
	copied := rest.CopyConfig(config)
	copied.ContentType = "application/vnd.kubernetes.protobuf"
	copied.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return copied
}

func typedClient(ctx context.Context, client kubernetes.Interface) {
	maps := client.CoreV1().ConfigMaps(namespace)
	made, err := maps.Create(ctx, configMap("typed", "1"), metav1.CreateOptions{})
	must(err)
	stale := made.DeepCopy()
	made.Data["value"] = "2"
	_, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	must(err)
	_, err = maps.Update(ctx, stale, metav1.UpdateOptions{})
	check("conflict", apierrors.IsConflict(err))
	_, err = maps.Create(ctx, configMap("typed", "1"), metav1.CreateOptions{})
	check("already exists", apierrors.IsAlreadyExists(err))
	wrong := types.UID("wrong")
	err = maps.Delete(ctx, "typed", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	check("delete precondition", apierrors.IsConflict(err))
	must(maps.Delete(ctx, "typed", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &made.UID}}))
	_, err = maps.Get(ctx, "typed", metav1.GetOptions{})
	check("not found", apierrors.IsNotFound(err))
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "Not Valid"}}, metav1.CreateOptions{})
	check("invalid", apierrors.IsInvalid(err))
}

func informer(ctx context.Context, client kubernetes.Interface) {
	maps := client.CoreV1().ConfigMaps(namespace)
	_, err := maps.Create(ctx, configMap("early", "1"), metav1.CreateOptions{})
	must(err)
	seen := newRecorder()
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	shared := factory.Core().V1().ConfigMaps().Informer()
	_, err = shared.AddEventHandler(seen.handler())
	must(err)
	factory.Start(ctx.Done())
	check("informer synced", cache.WaitForCacheSync(ctx.Done(), shared.HasSynced))
	_, err = maps.Create(ctx, configMap("late", "1"), metav1.CreateOptions{})
	must(err)
	_, err = maps.Patch(ctx, "late", types.MergePatchType, []byte(`{"data":{"value":"2"}}`), metav1.PatchOptions{})
	must(err)
	must(maps.Delete(ctx, "late", metav1.DeleteOptions{}))
	check("informer events", seen.wait("add early", "add late", "update late", "delete late"))
	check("informer version", shared.LastSyncResourceVersion() != "")
}

func metadataInformer(ctx context.Context, config *rest.Config, client kubernetes.Interface) {
	seen := newRecorder()
	factory := metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(config), 0, namespace, nil)
	shared := factory.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer()
	_, err := shared.AddEventHandler(seen.handler())
	must(err)
	factory.Start(ctx.Done())
	check("metadata informer synced", cache.WaitForCacheSync(ctx.Done(), shared.HasSynced))
	_, err = client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("bare", "1"), metav1.CreateOptions{})
	must(err)
	check("metadata informer events", seen.wait("add early", "add bare"))
}

func dynamicClient(ctx context.Context, config *rest.Config) {
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	maps := dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(namespace)
	watcher, err := maps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=dynamic"})
	must(err)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "dynamic"},
	}}
	_, err = maps.Create(ctx, object, metav1.CreateOptions{})
	must(err)
	event := <-watcher.ResultChan()
	watcher.Stop()
	check("dynamic watch", event.Type == "ADDED")
	watcher, err = maps.Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
	check("old watch", err != nil || watcher != nil)
}

func serverSideApply(ctx context.Context, client kubernetes.Interface) {
	maps := client.CoreV1().ConfigMaps(namespace)
	applied := applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"a": "1"})
	_, err := maps.Apply(ctx, applied, metav1.ApplyOptions{FieldManager: "one"})
	must(err)
	_, err = maps.Apply(ctx, applied.WithData(map[string]string{"a": "2"}), metav1.ApplyOptions{FieldManager: "two"})
	check("apply conflict", apierrors.IsConflict(err) && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict))
	live, err := maps.Get(ctx, "applied", metav1.GetOptions{})
	must(err)
	extracted, err := applycorev1.ExtractConfigMap(live, "one")
	must(err)
	check("extract applied", extracted.Data["a"] == "1" && len(extracted.Data) == 1)
}

// The server waits three seconds for such a version to come; more tries would only wait more.
func future(ctx context.Context, client kubernetes.Interface) {
	options := &metav1.ListOptions{ResourceVersion: "999999999", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	err := client.CoreV1().RESTClient().Get().Namespace(namespace).Resource("configmaps").
		VersionedParams(options, scheme.ParameterCodec).MaxRetries(0).Do(ctx).Error()
	check("too large resource version", apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge))
}

func paging(ctx context.Context, client kubernetes.Interface) {
	maps := client.CoreV1().ConfigMaps(namespace)
	seen, version, token := 0, "", ""
	for {
		page, err := maps.List(ctx, metav1.ListOptions{Limit: 2, Continue: token})
		must(err)
		if version != "" && page.ResourceVersion != version {
			fail("one revision for all pages")
		}
		seen, version, token = seen+len(page.Items), page.ResourceVersion, page.Continue
		if token == "" {
			break
		}
	}
	whole, err := maps.List(ctx, metav1.ListOptions{})
	must(err)
	check("paging", seen == len(whole.Items))
}

func leaderElection(ctx context.Context, client kubernetes.Interface) {
	elected := make(chan string, 2)
	for _, name := range []string{"first", "second"} {
		contender, stop := context.WithCancel(ctx)
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, "leader", client.CoreV1(), client.CoordinationV1(),
			resourcelock.ResourceLockConfig{Identity: name})
		must(err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			leaderelection.RunOrDie(contender, leaderelection.LeaderElectionConfig{
				Lock: lock, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { elected <- name }, OnStoppedLeading: func() {}},
			})
		}()
		check("leader "+name, <-elected == name)
		stop()
		<-done
	}
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Data: map[string]string{"value": value}}
}

// recorder remembers what an informer told, as "add name".
type recorder struct {
	lock  sync.Mutex
	lines []string
}

func newRecorder() *recorder { return &recorder{} }

func (r *recorder) add(verb string, object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.lines = append(r.lines, verb+" "+object.(metav1.Object).GetName())
}

func (r *recorder) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { r.add("add", object) },
		UpdateFunc: func(_, object any) { r.add("update", object) },
		DeleteFunc: func(object any) { r.add("delete", object) },
	}
}

// wait says whether all these came, in this order.
func (r *recorder) wait(wanted ...string) bool {
	for range 100 {
		if r.has(wanted) {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

func (r *recorder) has(wanted []string) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	next := 0
	for _, line := range r.lines {
		if next < len(wanted) && line == wanted[next] {
			next++
		}
	}
	return next == len(wanted)
}

func check(promise string, kept bool) {
	if !kept {
		fail(promise)
	}
	fmt.Println("ok:", promise)
}

func must(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "failed:", why)
	os.Exit(1)
}
