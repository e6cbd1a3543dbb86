import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { runProgram } from "../../../lib/process/run-program.ts";
import type { ContainerFiles } from "../container-files.ts";
import type { ContainerSpec } from "../driver.ts";
import { findProgram } from "../find-program.ts";

export interface MonitorLaunch {
  readonly spec: ContainerSpec;
  readonly files: ContainerFiles;
  /** Script that becomes the container, or waits for it and exits with its code. */
  readonly launchScript: string;
  readonly daemonPidFile: string;
  /** Process that creates the terminal of a container that has one. */
  readonly terminalBy: "script" | "launch";
  readonly signal?: AbortSignal;
}

/** Timeout for the creation of a container: a runtime may wait for a file system that does not respond. */
const makingTimeoutMs = 120_000;

/** File with the error output of the container's creation. */
export function setupLogPath(files: ContainerFiles): string {
  return join(files.dir, "setup.log");
}

/** Pipe to the launch script, on its descriptor 3. */
export function controlPath(files: ContainerFiles): string {
  return join(files.dir, "control");
}

/** Starts the monitor. Resolves when the container is ready to start, with its message, or has failed, with none. */
export async function launchMonitor(launch: MonitorLaunch): Promise<{ monitorPid: number; said: string }> {
  const { spec, files } = launch;
  await writeFile(join(files.dir, "launch.sh"), launch.launchScript, { mode: 0o600 });
  await writeFile(setupLogPath(files), "");
  const pipes = ["control", "out", "err", ...(spec.stdin || spec.terminal ? ["stdin"] : [])];
  await runProgram("mkfifo", ["-m", "600", ...pipes.map((name) => join(files.dir, name))]);
  // Programs reopen /dev/stdout as their own user.
  for (const name of ["out", "err"]) chownSync(join(files.dir, name), spec.user.uid, spec.user.gid);

  const [command, ...args] = withoutInheritedFiles([
    ...["sh", "-c", monitorScript, "kindling-monitor", files.dir, files.exit, launch.daemonPidFile],
    ...(spec.terminal ? [launch.terminalBy] : []),
  ]);
  const monitor = spawn(command, args, {
    cwd: "/",
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "ignore", "pipe"],
  });
  const failed = once(monitor, "error").then(([error]) => Promise.reject(error));
  const ready = monitor.stdio[4] as Readable;
  let said = "";
  ready.once("data", (chunk) => {
    said = String(chunk).trim();
  });
  const late = AbortSignal.timeout(makingTimeoutMs);
  const signal = launch.signal ? AbortSignal.any([late, launch.signal]) : late;
  const events = ["data", "close"].map((event) => once(ready, event, { signal }));
  await Promise.race([...events, failed]).catch((error) => {
    launch.signal?.throwIfAborted();
    throw late.aborted ? new Error(`it was not created within ${makingTimeoutMs / 1000} s`) : error;
  });
  ready.destroy();
  monitor.unref();
  return { monitorPid: monitor.pid ?? 0, said };
}

/**
 * Monitor of a container where conmon is not used: a shell that outlives the daemon, waits for the container's first
 * process and writes its exit code to a file with one rename. It holds the named pipes of the standard streams open, so
 * that nothing gets a broken pipe while the daemon restarts; when no daemon reads them, the remaining output goes to a
 * file.
 * $1 is the container's directory, $2 the exit file, $3 the daemon's PID file, $4 the creator of a terminal: `script`,
 * `launch` or nothing. Descriptor 3 carries messages of the daemon to launch.sh; descriptor 4 comes from the daemon:
 * the container's first process, or its creator, reports there that it is ready.
 */
const monitorScript = `
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
# The pipe stays open, but errors of the programs below are not the container's output.
exec 9>&2 2>/dev/null
# unshare cannot exit by SIGKILL as it does by other signals: it prints an error and exits with 1.
if [ $code = 1 ] && grep -q '^unshare: ' "$dir/setup.log"; then code=137; fi
[ -z "$holder" ] || kill $holder
if ! kill -0 "$(cat "$daemon")"; then
  dd if="$dir/out" of="$dir/out.rest" iflag=nonblock bs=65536
  dd if="$dir/err" of="$dir/err.rest" iflag=nonblock bs=65536
fi
# Retried while the disk is full: the code is known only here. Removal of the container removes its directory.
until echo $code > "$exit.new" && mv "$exit.new" "$exit"; do
  [ -d "$dir" ] || break
  sleep 0.2
done
`;

const closeOnExec = 0o2000000;

/**
 * Files that the daemon was started with and that every child would inherit: sockets of a service manager, pipes of a
 * test runner. A container must not see them. Node opens its own files with close-on-exec.
 */
function inheritedFiles(): number[] {
  return readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && !closesOnExec(fd));
}

function closesOnExec(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "0";
    return (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    // The descriptor that read the directory is closed by now.
    return true;
  }
}

/** The same command with those files closed. A POSIX shell cannot close descriptors above 9, so bash runs it. */
export function withoutInheritedFiles(words: readonly string[]): [string, ...string[]] {
  const files = inheritedFiles();
  const [command = "", ...rest] = words;
  const bash = files.length > 0 ? findProgram("bash") : undefined;
  if (!bash) return [command, ...rest];
  const closing = files.map((fd) => `${fd}>&-`).join(" ");
  return [bash, "-c", `exec "$@" ${closing}`, "bash", command, ...rest];
}
