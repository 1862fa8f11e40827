package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// listWatch is where the reflector reads from, and an example of what it reads.
func listWatch(config *rest.Config, opts options) (cache.ListerWatcher, runtime.Object, error) {
	switch opts.client {
	case "protobuf":
		config.ContentType = runtime.ContentTypeProtobuf
		return typed(config, opts.namespace)
	case "typed":
		return typed(config, opts.namespace)
	case "dynamic":
		return untyped(config, opts)
	default:
		return nil, nil, fmt.Errorf("-client is %q, but must be typed, protobuf or dynamic", opts.client)
	}
}

func typed(config *rest.Config, namespace string) (cache.ListerWatcher, runtime.Object, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	source := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", namespace, fields.Everything())
	return source, &corev1.ConfigMap{}, nil
}

func untyped(config *rest.Config, opts options) (cache.ListerWatcher, runtime.Object, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	objects := client.Resource(opts.resource).Namespace(opts.namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, options)
		},
	}
	return source, &unstructured.Unstructured{}, nil
}
