#!/usr/bin/env bash
# Runs the commands of docs/walk.md in a fresh folder, as a newcomer would. Needs curl.
set -euo pipefail
cd "$(dirname "$0")/.."
export HOLDOVER=$PWD
# The folder is outside of the repository, so the repository's compiler is set for it.
RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)}
export RUSTUP_TOOLCHAIN
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$HOLDOVER/acceptance/page.sh" "$HOLDOVER/docs/walk.md"
