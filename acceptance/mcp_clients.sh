#!/usr/bin/env bash
# The official MCP clients run sessions with an approval through `holdover mcp`, and over HTTP through `holdover serve`: the
# TypeScript SDK in both generations, and the Python SDK in both versions of the protocol. Each of them decides with the tool, and
# in a form where the client can be asked. Every session leaves one line in a file, and its exact transcript.
# With HOLDOVER_BUILT=1, the command is not built. Needs node, npm and python3.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -n "${HOLDOVER_BUILT-}" ] || cargo build --quiet -p holdover-cli --features full
HOLDOVER=$(realpath "${CARGO_TARGET_DIR:-target}/debug/holdover")
STAGE=$(mktemp -d)
server=''
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait || true; rm -rf "$STAGE"' EXIT

mkdir "$STAGE/files"
cp acceptance/mcp_clients/* "$STAGE"
cd "$STAGE"
npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$STAGE" \
    @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 >npm.log 2>&1 &
npm=$!
{ python3 -m venv python && python/bin/pip install -q --no-compile --disable-pip-version-check mcp==2.3.0; } >pip.log 2>&1 &
pip=$!
wait "$npm" || { cat npm.log >&2; exit 1; }
wait "$pip" || { cat pip.log >&2; exit 1; }

export HOLDOVER STAGE
TOKEN=$("$HOLDOVER" tokens create --name ann --may read,send,decide --expires 1h --quiet)
"$HOLDOVER" --json serve agent.toml --listen 127.0.0.1:0 >serve.log 2>serve.err &
server=$!
for _ in $(seq 300); do
    [ ! -s serve.log ] || break
    kill -0 "$server" || { cat serve.err >&2; exit 1; }
    sleep 0.1
done
MCP_URL=$(sed -n '1s/.*"listens":"\([^"]*\)".*/\1\/mcp/p' serve.log)
export TOKEN MCP_URL

{ node typescript_1.mjs && node typescript_2.mjs && python/bin/python python_2.py; } | tee played.log
plays=$(wc -l <played.log) paid=$(wc -l <files/paid.txt)
[ "$plays" = 15 ] || { echo "15 plays were to be played, and $plays were" >&2; exit 1; }
[ "$paid" = "$plays" ] || { echo "$plays sessions paid $paid times" >&2; exit 1; }
echo "$plays sessions of the official MCP clients were approved, and each paid once"
