package jvm

// Ports picks n different free ports on 127.0.0.1 for servers to listen on. On Linux they stay reserved
// until release is called or the process ends: neither another Ports nor an outgoing connection gets
// one, so a server can be stopped and started again on its port.
func Ports(n int) (ports []int, release func(), err error) {
	var held []func()
	release = func() {
		for _, f := range held {
			f()
		}
	}
	for range n {
		port, free, err := reservePort()
		if err != nil {
			release()
			return nil, nil, err
		}
		ports, held = append(ports, port), append(held, free)
	}
	return ports, release, nil
}
