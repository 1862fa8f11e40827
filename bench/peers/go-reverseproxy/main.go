// A reverse proxy on Go's standard library, tuned as a careful user would: what KEDA's and Knative's proxies are built on.
package main

import (
	"flag"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime"
	"sync"
)

// buffers lends the copy buffers that ReverseProxy would otherwise allocate for each response.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte  { return b.pool.Get().([]byte) }
func (b *buffers) Put(p []byte) { b.pool.Put(p) }

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	backend := flag.String("backend", "127.0.0.1:9000", "address to forward to")
	procs := flag.Int("procs", 1, "threads that run Go code")
	flag.Parse()
	runtime.GOMAXPROCS(*procs)

	target := &url.URL{Scheme: "http", Host: *backend}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
		},
		Transport: &http.Transport{
			MaxIdleConns:        4096,
			MaxIdleConnsPerHost: 4096,
			DisableCompression:  true,
		},
		BufferPool: &buffers{sync.Pool{New: func() any { return make([]byte, 32*1024) }}},
		ErrorLog:   log.New(discard{}, "", 0),
	}

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal((&http.Server{Handler: proxy}).Serve(listener))
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
