#!/bin/sh
# A program that sometimes lies: it passes everything on to LIAR_REAL, but puts whose name ends in 7, and some reads, go wrong
# in the way that LIAR_MODE names. It shows that the checks can fail.

verb='' uri='' eager='' previous=''
for argument in "$@"; do
    case $previous in
    --uri) uri=$argument ;;
    --lock-timeout) [ "$argument" = 0 ] && eager=yes ;;
    --capsule) capsule=$argument ;;
    esac
    case $argument in
    put | get | find | stats | compact) [ -z "$verb" ] && verb=$argument ;;
    esac
    previous=$argument
done

case $LIAR_MODE:$verb:$uri in
drop:put:*7)
    echo "{\"uri\":\"mv2://default/$uri\",\"sequence\":999999,\"change\":\"added\"}"
    exit 0
    ;;
double:put:*7)
    "$LIAR_REAL" "$@" || exit
    "$LIAR_REAL" "$@ again" >/dev/null
    exit 0
    ;;
alter:put:*7)
    # The text is the last argument, and the shell keeps it as one word.
    exec "$LIAR_REAL" "$@ altered"
    ;;
damage:put:*7)
    "$LIAR_REAL" "$@" || exit
    printf 'damaged!' | dd of="$capsule" bs=1 seek=12400 conv=notrunc 2>/dev/null
    exit 0
    ;;
forget:stats:*)
    echo '{"record_count":0,"torn_bytes":0}'
    exit 0
    ;;
blind:find:*)
    echo '{"hits":[]}'
    exit 0
    ;;
stuck:put:*)
    if [ "$eager" = yes ]; then
        echo '{"error":{"code":"locked_by_writer","message":"a lock that nobody holds"}}' >&2
        exit 2
    fi
    ;;
esac
exec "$LIAR_REAL" "$@"
