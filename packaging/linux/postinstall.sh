#!/bin/sh
set -e
# Into another root nothing of this system is touched.
[ -z "${DPKG_ROOT:-}" ] || exit 0
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers mcpproxy.conf
elif ! getent passwd mcpproxy >/dev/null; then
  useradd --system --home-dir /var/lib/mcpproxy --shell /usr/sbin/nologin mcpproxy
fi
chown mcpproxy:mcpproxy /etc/mcpproxy /etc/mcpproxy/config.json
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # After an upgrade the new program serves; on a first installation nothing runs yet, and nothing is started.
  systemctl try-restart mcpproxy.service
fi
