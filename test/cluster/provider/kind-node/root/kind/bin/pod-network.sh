#!/bin/sh
# Waits for kube-proxy: a connection to a Service that starts before its rules exist hangs for 30 s.
until curl -ksm 1 -o /dev/null https://10.96.0.1/livez &&
  cidr=$(kubectl --kubeconfig /etc/kubernetes/super-admin.conf get node "$(hostname)" -o 'jsonpath={.spec.podCIDR}') && [ "$cidr" ]
do sleep 0.2; done
mkdir -p /etc/cni/net.d
cat > /etc/cni/net.d/10-kind.conflist <<CNI
{"cniVersion": "0.4.0", "name": "kind", "plugins": [
  {"type": "ptp", "ipMasq": true,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "$cidr"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
CNI
