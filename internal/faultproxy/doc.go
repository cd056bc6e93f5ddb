// Package faultproxy stands between a client and a server, knows where each request
// and response begins and ends, and does to any of them what a hook says: lose it,
// hold it back and deliver it later, damage it, cut the connection in the middle.
//
//	p := faultproxy.New(faultproxy.Fluss)
//	defer p.Close()
//	p.SetHook(func(f faultproxy.Frame) faultproxy.Action {
//		return faultproxy.Action{DropResponse: f.N == 17}
//	})
//	client := fluss.New(fluss.Options{Dial: p.Dial})
//
// Clients of a cluster connect to the addresses that its servers advertise, so the
// proxy is used through the client's dial function. A client without one is given
// an address of [Proxy.Listen].
package faultproxy
