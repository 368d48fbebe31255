# Sourced by bench/compare/run: starts each server in front of the origin as its manual says for this load: cache in memory, one
# worker a core, no access log, keep-alive without a limit.
declare -A program=([floor]=$build/weir-bench-floor [weir]=$build/weir [other]=${WEIR:-} [nginx]=nginx [haproxy]=haproxy [varnish]=varnishd)

versions() {
  {
    if command -v nginx >/dev/null; then nginx -v 2>&1 | sed 's/.*nginx version: //'; fi
    if command -v haproxy >/dev/null; then haproxy -v | awk 'NR == 1 {print "HAProxy", $3}'; fi
    if command -v varnishd >/dev/null; then varnishd -V 2>&1 | sed -n '1s/.*(\(varnish-[0-9.]*\).*/\1/p'; fi
  } | paste -sd, | sed 's/,/, /g'
}

start() {  # NAME CORES WORKERS
  command -v "${program[$1]}" >/dev/null || return 0
  local port
  port=$(free_port)
  "run_$1" "$port" "$2" "$3" & pids+=($!)
  names+=("$1") ports+=("$port") servers+=($!)
  wait_for "$port"
}

# Each replaces the shell that it runs in, so that the process is the server.
run_floor() { exec taskset -c "$2" "$build/weir-bench-floor" "$1" "$work/floor-answer" "$3"; }

run_weir_from() {  # PROGRAM PORT CORES WORKERS
  exec taskset -c "$3" "$1" --origin "http://127.0.0.1:$origin" --listen "127.0.0.1:$2" --set "workers=$4" --set admin.listen=off \
    --set store.max_bytes=1GiB --log-level error
}
run_weir() { run_weir_from "$build/weir" "$@"; }
run_other() { run_weir_from "$WEIR" "$@"; }

run_nginx() {
  cat >"$work/nginx.conf" <<CONF
user $(id -un); pid $work/nginx.pid; error_log $work/nginx.log; daemon off; worker_processes $3; worker_rlimit_nofile 20000;
events { worker_connections 8192; }
http {
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_timeout 600; keepalive_requests 1000000000;
  proxy_cache_path $work/nginx-cache keys_zone=c:64m max_size=2g inactive=1h use_temp_path=off;
  open_file_cache max=200000 inactive=1h; open_file_cache_valid 1h;
  upstream o { server 127.0.0.1:$origin; keepalive 64; }
  server { listen 127.0.0.1:$1 backlog=4096$([ "$3" = 1 ] || echo " reuseport");
    location / { proxy_pass http://o; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_cache c; } }
}
CONF
  exec taskset -c "$2" nginx -p "$work" -c "$work/nginx.conf" >"$work/nginx.out" 2>&1
}

run_haproxy() {
  cat >"$work/haproxy.cfg" <<CONF
global
  maxconn 8000
  nbthread $3
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 60s
  option http-keep-alive
  http-reuse always
cache c
  total-max-size 512
  max-object-size 2000000
  max-age 3600
  process-vary on
frontend f
  bind 127.0.0.1:$1 backlog 4096
  default_backend b
backend b
  http-request cache-use c
  http-response cache-store c
  server origin 127.0.0.1:$origin pool-max-conn 64
CONF
  exec taskset -c "$2" haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.out" 2>&1
}

run_varnish() {
  exec taskset -c "$2" varnishd -j none -F -n "$work/varnish" -a "127.0.0.1:$1" -b "127.0.0.1:$origin" -s malloc,1g -p listen_depth=4096 \
    -p thread_pools="$3" -p thread_pool_min=200 -p timeout_idle=600 >"$work/varnish.out" 2>&1
}
