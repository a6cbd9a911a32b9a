# A subject whose failure does not come back: the fault of the file $FAULT_ONCE is in its first run on
# two tensor-parallel ranks, and in no later one.
case " $* " in
  *" --tp=2 "*)
    if mkdir "$FAULT_ONCE.spent" 2>/dev/null; then export NANHUNT_FAULT_FILE="$FAULT_ONCE"; fi ;;
esac
exec "$@"
