#!/usr/bin/env bash
# Installs what the tests need and a bare Debian machine lacks. Programs that the machine's own suite has come by
# apt-get install; newer versions are taken from later suites of the same archive and unpacked aside, so that the
# machine itself stays on its suite. Tests look into that folder, .tools, before the PATH.
set -euo pipefail

tools=$(cd "$(dirname "$0")/.." && pwd)/.tools
mkdir -p "$tools/bin"

# The first Debian archive that this machine is set up for.
archive_uri() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    grep -E '^(URIs: |deb )' | grep -o -E 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' '
}

ensure_updated() {
  [ -n "${updated:-}" ] || apt-get update -qq >&2
  updated=yes
}

from_own_suite() { # program-or-file package
  { command -v "$1" || [ -e "$1" ]; } >/dev/null && return
  ensure_updated
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >&2
}

from_suite() { # suite package folder
  local suite=$1 package=$2 folder=$tools/$3
  [ -e "$folder" ] && return
  local apt=$tools/apt-$suite
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(archive_uri) $suite main" >"$apt/sources.list"
  local options=(-o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$apt/lists" -o Dir::State::Status=/dev/null -o "Dir::Cache=$apt/cache")
  apt-get "${options[@]}" update -qq >&2
  (cd "$apt" && apt-get "${options[@]}" -o APT::Sandbox::User=root download -qq "$package" >&2)
  mkdir -p "$folder.part"
  dpkg-deb -x "$apt/$package"_*.deb "$folder.part"
  mv "$folder.part" "$folder"
}

from_own_suite etcd etcd-server
from_own_suite openssl openssl
from_own_suite runc runc
from_own_suite conmon conmon
from_own_suite busybox busybox-static
from_own_suite ip iproute2
from_own_suite iptables iptables
from_own_suite nft nftables
from_own_suite conntrack conntrack
from_own_suite /usr/lib/cni/bridge containernetworking-plugins
from_own_suite docker-registry docker-registry
from_own_suite skopeo skopeo
from_own_suite umoci umoci
from_own_suite containerd containerd
from_own_suite prometheus prometheus
from_own_suite chromium chromium
# An older and a newer kubectl: users have both.
from_suite trixie kubectl kubectl-trixie
from_suite forky kubectl kubectl-forky
# The machine's own containerd 1.6 has no container events; this one has.
from_suite forky containerd containerd-2
ln -sf ../kubectl-trixie/usr/bin/kubectl "$tools/bin/kubectl-older"
ln -sf ../kubectl-forky/usr/bin/kubectl "$tools/bin/kubectl"
