// Command client-go-reflector fills a cache from an API server with client-go's reflector, and prints as one JSON object
// how long that took and what memory it holds.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type figures struct {
	Client  string  `json:"client"`
	Objects int     `json:"objects"`
	Seconds float64 `json:"seconds"`
	// Resident memory once the collector has run, and the most there ever was.
	RssBytes     int64 `json:"rssBytes"`
	PeakRssBytes int64 `json:"peakRssBytes"`
}

type options struct {
	kubeconfig string
	client     string
	resource   schema.GroupVersionResource
	namespace  string
	timeout    time.Duration
}

func main() {
	var opts options
	var groupVersion, resource string
	flag.StringVar(&opts.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "path of the kubeconfig")
	flag.StringVar(&opts.client, "client", "typed", "typed (ConfigMaps as Go structs, JSON), protobuf (the same, protobuf) or dynamic (any kind, as maps)")
	flag.StringVar(&groupVersion, "group-version", "v1", "of the kind to sync with the dynamic client")
	flag.StringVar(&resource, "resource", "configmaps", "plural name of the kind to sync with the dynamic client")
	flag.StringVar(&opts.namespace, "namespace", "", "the namespace to sync; all when empty")
	watchList := flag.Bool("watch-list", false, "stream the first list as a watch, client-go's default, which costs four times as long with JSON")
	flag.DurationVar(&opts.timeout, "timeout", 5*time.Minute, "when to give up")
	flag.Parse()

	// client-go reads its feature gates from the environment, when it first asks for one.
	os.Setenv("KUBE_FEATURE_WatchListClient", strconv.FormatBool(*watchList))
	parsed, err := schema.ParseGroupVersion(groupVersion)
	exitOn(err, 2)
	opts.resource = parsed.WithResource(resource)
	result, err := measure(opts)
	exitOn(err, 1)
	exitOn(json.NewEncoder(os.Stdout).Encode(result), 1)
}

func measure(opts options) (figures, error) {
	config, err := clientcmd.BuildConfigFromFlags("", opts.kubeconfig)
	if err != nil {
		return figures{}, err
	}
	source, example, err := listWatch(config, opts)
	if err != nil {
		return figures{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), opts.timeout)
	defer cancel()

	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector := cache.NewReflectorWithOptions(source, example, store, cache.ReflectorOptions{})
	startedAt := time.Now()
	go reflector.RunWithContext(ctx)
	for reflector.LastSyncResourceVersion() == "" {
		if ctx.Err() != nil {
			return figures{}, fmt.Errorf("not synced within %s", opts.timeout)
		}
		time.Sleep(time.Millisecond)
	}
	seconds := time.Since(startedAt).Seconds()
	rss, peak, err := residentBytes()
	return figures{opts.client, len(store.ListKeys()), seconds, rss, peak}, err
}

func exitOn(err error, code int) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "client-go-reflector:", err)
	os.Exit(code)
}
