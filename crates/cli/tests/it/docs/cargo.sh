#!/bin/sh
# Stands in for cargo where the documentation is typed: starts what is built already, and checks that the rest exists.
set -eu

case "$*" in
    'run --release -- '*)
        shift 3
        exec kapsa "$@"
        ;;
    'run --example crm')
        exec "$EXAMPLES/crm"
        ;;
    'install --path crates/cli --locked')
        grep '^name = "kapsa"$' "$REPOSITORY/crates/cli/Cargo.toml"
        ;;
    'test --workspace')
        # It is what runs this.
        grep '^members = ' "$REPOSITORY/Cargo.toml"
        ;;
    *)
        echo "no stand-in for: cargo $*" >&2
        exit 1
        ;;
esac
