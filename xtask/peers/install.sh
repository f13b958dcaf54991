#!/bin/sh
# Installs the kapsa of this machine from an archive beside this script, after checking its sum.
# sh install.sh [FOLDER]: the program goes to FOLDER (default ~/.local/bin), the manual to
# FOLDER/../share/man.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=${1:-$HOME/.local/bin}
case "$(uname -s)" in
  Linux) system=unknown-linux-musl ;;
  Darwin) system=apple-darwin ;;
  *) echo "no archive is made for $(uname -s); build it: cargo install --locked --path crates/cli" >&2; exit 1 ;;
esac
case "$(uname -m)" in
  x86_64 | amd64) processor=x86_64 ;;
  aarch64 | arm64) processor=aarch64 ;;
  *) echo "no archive is made for $(uname -m); build it: cargo install --locked --path crates/cli" >&2; exit 1 ;;
esac
archive=$(cd "$here" && ls kapsa-*-"$processor-$system".tar.gz 2>/dev/null | tail -n 1) || true
if [ -z "$archive" ]; then
  echo "there is no archive for $processor-$system beside this script" >&2
  exit 1
fi
if command -v sha256sum >/dev/null; then sum="sha256sum"; else sum="shasum -a 256"; fi
expected=$(awk -v name="$archive" '$2 == name { print $1 }' "$here/SHA256SUMS")
found=$($sum "$here/$archive" | cut -d ' ' -f 1)
if [ -z "$expected" ] || [ "$expected" != "$found" ]; then
  echo "$archive is not what SHA256SUMS says; nothing was installed" >&2
  exit 1
fi
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
tar -xzf "$here/$archive" -C "$unpacked"
mkdir -p "$to" "$to/../share/man/man1"
# Put in place at once: whoever runs it meanwhile has the old one or the new one.
for program in kapsa kapsa-memvid; do
  cp "$unpacked/${archive%.tar.gz}/$program" "$to/.$program.new"
  chmod 755 "$to/.$program.new"
  mv "$to/.$program.new" "$to/$program"
done
cp "$unpacked/${archive%.tar.gz}"/man/man1/* "$to/../share/man/man1/"
"$to/kapsa" --version
case ":$PATH:" in *":$to:"*) ;; *) echo "add $to to PATH" ;; esac
