#!/usr/bin/env bash
# Checks the description of the API, front/openapi.json, with a linter; makes a client in TypeScript and one in Python of it; and
# has each play the main job against `holdover serve`, over connections that break. Needs node, npm and python3 with venv. Installs the linter
# and the generators below target/, at the versions of clients/package-lock.json and clients/requirements.txt. With
# HOLDOVER_BUILT=1, it builds no programs. With --lint, it only checks the description.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD/acceptance/clients tools=$PWD/target/acceptance/clients description=$PWD/front/openapi.json
[ $# = 0 ] || [ "$*" = --lint ] || { echo "usage: acceptance/clients.sh [--lint]" >&2; exit 2; }

# Installs tools below target/, unless they are there at the versions of this list.
installed() {
    local list=$1 place=$2 install=$3
    cmp -s "$here/$list" "$place/installed" && return
    rm -rf "$place"
    mkdir -p "$place"
    "$install" "$place"
    cp "$here/$list" "$place/installed"
}
npm_tools() {
    cp "$here"/package{,-lock}.json "$1"
    npm ci --silent --no-audit --no-fund --ignore-scripts --prefix "$1"
}
python_tools() {
    python3 -m venv "$1"
    "$1/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
}

installed package-lock.json "$tools/npm" npm_tools
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true NO_COLOR=1
"$tools/npm/node_modules/.bin/redocly" lint --config "$here/redocly.yaml" "$description"
[ $# = 0 ] || exit 0

installed requirements.txt "$tools/python" python_tools
[ -n "${HOLDOVER_BUILT-}" ] || cargo build --quiet -p holdover-cli --features serve
holdover=$(realpath "${CARGO_TARGET_DIR:-target}/debug/holdover")
folder=$(mktemp -d) started=()
finish() {
    local code=$?
    kill "${started[@]}" 2>/dev/null || true
    wait || true
    [ "$code" = 0 ] || cat "$folder"/*.log >&2
    rm -rf "$folder"
}
trap finish EXIT
cd "$folder"
cp "$here"/{agent,script}.toml .
mkdir files

# Prints the URL that a program prints in its first line, once it is there.
url_of() {
    local log=$1
    for _ in $(seq 600); do
        grep -om1 'http://127[.0-9]*:[0-9]*' "$log" && return
        sleep 0.05
    done
    echo "$log: no address was printed within 30 s" >&2
    exit 1
}

export HOLDOVER_STORE=sqlite:$folder/sessions.db HOLDOVER_LOG=
token=$("$holdover" tokens create --name ann --may read,send,decide,operate --expires 1h --json |
    sed -nE 's/.*"token": ?"([^"]*)".*/\1/p')
"$holdover" --json serve agent.toml --listen 127.0.0.1:0 >server.log 2>server-notes.log &
started+=($!)
server=$(url_of server.log)

# Runs a client behind a server of its own that cuts its first streams.
plays() {
    local name=$1 url
    shift
    node "$here/cuts.mjs" "$server" >"$name-cuts.log" &
    started+=($!)
    url=$(url_of "$name-cuts.log")
    "$@" "$url" "$token"
    grep -q cut "$name-cuts.log" || { echo "$name: no stream was cut" >&2; exit 1; }
}

typescript() {
    mkdir typescript
    cd typescript
    cp "$here"/{main_job,follow}.ts .
    ln -s "$tools/npm/node_modules" .
    echo '{ "private": true, "type": "module" }' >package.json
    npx openapi-typescript "$description" --output holdover.ts >/dev/null
    npx tsc --strict --noUncheckedIndexedAccess --noEmitOnError --target es2022 --module nodenext main_job.ts
    cd ..
    plays typescript node typescript/main_job.js
}

python() {
    PATH=$tools/python/bin:$PATH
    mkdir python
    cp "$here"/{main_job,follow}.py python
    openapi-python-client generate --path "$description" --meta none --output-path python/holdover_client \
        --fail-on-warning >python.log
    (cd python && mypy --strict --follow-imports silent --no-error-summary main_job.py follow.py)
    plays python python3 python/main_job.py
}

typescript
python
