#!/bin/sh
# Runs Node.js ($KINDLING_TEST_NODE) with the given arguments in a new network and mount namespace. The test pool starts its
# workers with this file instead of the node program.
exec unshare --net --mount --propagation private sh -ec '
  # /sys/class/net shows the interfaces of the new network namespace only in a new sysfs, which has no cgroups: they are
  # bound to a temporary directory in between.
  cgroups=$(mktemp -d)
  release() { umount -l "$cgroups"; rmdir "$cgroups"; }
  trap release EXIT
  mount --rbind /sys/fs/cgroup "$cgroups"
  mount -t sysfs sysfs /sys
  mount --rbind "$cgroups" /sys/fs/cgroup
  release
  trap - EXIT
  ip link set lo up
  exec "$@"
' sh "$KINDLING_TEST_NODE" "$@"
