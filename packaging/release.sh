#!/usr/bin/env bash
# Makes what is released: an archive of the `holdover` command for each kind of Linux, its checksum, and a container image.
# They lie in target/release-files afterwards. What this machine cannot build is named in the last line.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=dist ready=
case "$#:${1-}" in
    0:) ;;
    # The command of this machine, already built.
    2:--binary) ready=$2 ;;
    *) echo "usage: packaging/release.sh [--binary FILE]" >&2; exit 2 ;;
esac

targets=(x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu)
version=$(sed -nE '/^\[workspace.package\]/,/^\[/s/^version = "(.*)"/\1/p' Cargo.toml)
built=${CARGO_TARGET_DIR:-target} out=${CARGO_TARGET_DIR:-target}/release-files
host=$(rustc -vV | sed -n 's/^host: //p')
# The same files make the same archive, whenever it is made.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
made=() missing=()
rm -rf "$out"
mkdir -p "$out"

# Whether a program for this target can be compiled and linked here.
can_build() {
    [ "$1" = "$host" ] && return
    [ -z "$ready" ] || return
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1" ] || return
    local linker=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$1")_LINKER
    command -v "${!linker:-${1%%-*}-linux-gnu-gcc}" >/dev/null
}

archive() {
    local target=$1 name=holdover-$version-$1 binary=$ready
    local -a for_target=()
    [ "$target" = "$host" ] || for_target=(--target "$target")
    [ "$target" = "$host" ] || export "CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$target")_LINKER=${target%%-*}-linux-gnu-gcc"
    if [ -z "$binary" ]; then
        cargo build --quiet --locked -p holdover-cli --features full --profile "$profile" "${for_target[@]}"
        binary=$built/${for_target[1]:+$target/}$profile/holdover
    fi
    mkdir "$out/$name"
    cp "$binary" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$out/$name/"
    tar --directory "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c "$name" \
        | gzip --no-name >"$out/$name.tar.gz"
    (cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
    made+=("$name.tar.gz")
}

for target in "${targets[@]}"; do
    if can_build "$target"; then
        archive "$target"
    else
        missing+=("$target")
    fi
done

image=holdover:$version
if [ -d "$out/holdover-$version-x86_64-unknown-linux-gnu" ] && docker info >/dev/null 2>&1 \
    && docker build --quiet --tag "$image" --file packaging/Dockerfile "$out/holdover-$version-x86_64-unknown-linux-gnu" >/dev/null; then
    docker save "$image" | gzip --no-name >"$out/holdover-$version-image.tar.gz"
    (cd "$out" && sha256sum "holdover-$version-image.tar.gz" >"holdover-$version-image.tar.gz.sha256")
    made+=("holdover-$version-image.tar.gz")
else
    missing+=("container image")
fi

(cd "$out" && for name in "${made[@]}"; do sha256sum --check --quiet "$name.sha256"; done)
for name in "${made[@]}"; do
    printf '%s/%s  %s bytes\n' "$out" "$name" "$(stat -c %s "$out/$name")"
done
if [ ${#missing[@]} = 0 ]; then
    echo "all of it was built here"
else
    printf 'not built here:%s\n' "$(printf ' %s;' "${missing[@]}")"
fi
