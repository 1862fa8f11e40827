// A reverse proxy on fasthttp, the engine of proxless, used as its documentation asks.
package main

import (
	"flag"
	"log"
	"net"
	"runtime"

	"github.com/valyala/fasthttp"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	backend := flag.String("backend", "127.0.0.1:9000", "address to forward to")
	procs := flag.Int("procs", 1, "threads that run Go code")
	flag.Parse()
	runtime.GOMAXPROCS(*procs)

	upstream := &fasthttp.HostClient{Addr: *backend, MaxConns: 4096}
	handler := func(ctx *fasthttp.RequestCtx) {
		request, response := &ctx.Request, &ctx.Response
		request.Header.Del("Connection")
		request.Header.Add("X-Forwarded-For", ctx.RemoteIP().String())
		request.Header.SetBytesV("X-Forwarded-Host", request.Host())
		request.Header.Set("X-Forwarded-Proto", "http")
		if err := upstream.Do(request, response); err != nil {
			ctx.Error("bad gateway", fasthttp.StatusBadGateway)
			return
		}
		response.Header.Del("Connection")
	}

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Handler: handler, NoDefaultServerHeader: true}
	log.Fatal(server.Serve(listener))
}
