#!/bin/sh
# The program under test, free of the caller's settings: nothing but what a shell needs is passed on.
exec env -i PATH="$PATH" HOME=/nonexistent TMPDIR="$PWD" COLUMNS=100 KAPSA_EMBED=later "$KAPSA_TEST_BINARY" "$@"
