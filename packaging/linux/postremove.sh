#!/bin/sh
set -e
[ -z "${DPKG_ROOT:-}" ] || exit 0
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
# dpkg asks for this only with --purge: state and cache go, the system user stays so that its number is not given anew.
if [ "${1:-}" = purge ]; then rm -rf /var/lib/mcpproxy /var/cache/mcpproxy /etc/mcpproxy; fi
