#!/usr/bin/env bash
# Plays docs/walk.md in a fresh folder, exactly as a newcomer would. Needs curl.
set -euo pipefail
cd "$(dirname "$0")/.."
export HOLDOVER=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$HOLDOVER/acceptance/page.sh" "$HOLDOVER/docs/walk.md"
