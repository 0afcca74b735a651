#!/bin/sh
set -e
[ -z "${DPKG_ROOT:-}" ] || exit 0
# dpkg says "remove", rpm how many versions stay; an upgrade keeps the service as it is.
case "${1:-}" in
  remove | 0)
    if [ -d /run/systemd/system ]; then systemctl disable --now mcpproxy.service || true; fi
    ;;
esac
