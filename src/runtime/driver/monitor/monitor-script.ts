/**
 * The monitor of a container where there is no conmon: a shell that outlives the daemon, waits for the container's
 * first process and leaves its exit code in a file, in one rename. It holds the named pipes of the standard streams
 * open, so that nobody gets a broken pipe while the daemon restarts; what is in them at the end goes to a file when
 * there is no daemon to read it.
 *
 * $1 the container's directory, $2 the exit file, $3 the daemon's pid file, $4 who gives the container a terminal: `script`
 * or `launch`, nobody if it is missing. Descriptor 3 brings the daemon's words to launch.sh; descriptor 4 comes from the
 * daemon: there the container's first process, or who made it, says that it is ready.
 */
export const monitorScript = `
dir=$1 exit=$2 daemon=$3 terminal=$4
exec 3<>"$dir/control" 1<>"$dir/out" 2<>"$dir/err"
holder=
if [ "$terminal" = script ]; then
  exec 0<>"$dir/stdin"
  script -q -e -f -E always -c "exec sh '$dir/launch.sh'" /dev/null
elif [ "$terminal" = launch ]; then
  exec 0<>"$dir/stdin"
  sh "$dir/launch.sh"
else
  if [ -p "$dir/stdin" ]; then
    exec 7<>"$dir/stdin" 0<"$dir/stdin"
    sleep infinity 0</dev/null 1>/dev/null 2>/dev/null 3>&- 4>&- &
    holder=$!
    echo $holder > "$dir/stdin-holder"
    exec 7>&-
  else
    exec 0</dev/null
  fi
  sh "$dir/launch.sh"
fi
code=$?
# The pipe stays open, but what the programs below complain about is not the container's.
exec 9>&2 2>/dev/null
# unshare cannot end by SIGKILL as it does by other signals: it complains and ends with 1.
if [ $code = 1 ] && grep -q '^unshare: ' "$dir/setup.log"; then code=137; fi
[ -z "$holder" ] || kill $holder
if ! kill -0 "$(cat "$daemon")"; then
  dd if="$dir/out" of="$dir/out.rest" iflag=nonblock bs=65536
  dd if="$dir/err" of="$dir/err.rest" iflag=nonblock bs=65536
fi
# A full disk takes it later: nobody else knows it. Not for ever: who removes the container removes its directory.
until echo $code > "$exit.new" && mv "$exit.new" "$exit"; do
  [ -d "$dir" ] || break
  sleep 0.2
done
`;
