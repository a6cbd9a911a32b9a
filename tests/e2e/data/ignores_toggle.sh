# A subject that does not listen to one of its toggles: runs its arguments without --sp.
for word; do
  shift
  case $word in
    --sp=*) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec "$@"
