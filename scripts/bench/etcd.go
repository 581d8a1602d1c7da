package main

import "net"

// etcd starts a server on loopback, and returns where it is to be had.
func (b *bench) etcd() (endpoint string, stop func(), err error) {
	dir, err := b.disk().folder()
	if err != nil {
		return "", nil, err
	}
	clients, err := freeAddress()
	if err != nil {
		return "", nil, err
	}
	peers, err := freeAddress()
	if err != nil {
		return "", nil, err
	}
	server, err := b.start(nil, "etcd", "--data-dir", dir, "--log-level", "error", "--logger", "zap",
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers)
	if err != nil {
		return "", nil, err
	}
	return clients, server.kill, nil
}

// freeAddress returns the URL of a port that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return "http://" + l.Addr().String(), l.Close()
}
