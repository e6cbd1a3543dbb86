import { quoteShell } from "../../../lib/process/run-program.ts";
import { decideCapabilities } from "../capabilities.ts";
import type { ContainerSpec, Namespaces } from "../driver.ts";
import { completeEnv, type OciFacts } from "../oci/build-oci-config.ts";
import { insideTool, toolsInside } from "./host-tools.ts";
import { bindLines, type HostMount, oldRoot } from "./plan-host-mounts.ts";

export interface InitScript {
  readonly spec: ContainerSpec;
  readonly facts: OciFacts;
  readonly mounts: readonly HostMount[];
  /** Empty directory of the host in which the root is assembled. */
  readonly root: string;
  readonly toolsDir: string;
  /** Directory with the content of every container's /dev. */
  readonly devDir: string;
  readonly cgroupDirs: readonly string[];
}

/**
 * Script that turns a shell in new namespaces into the container's program. It reports on descriptor 4 that all is
 * ready, and waits on descriptor 3 to continue; both are closed before the program runs. Every value from outside is
 * quoted.
 */
export function buildInitScript(script: InitScript): string {
  const { spec, facts, mounts, toolsDir } = script;
  const shares = hasBidirectionalMount(spec);
  const root = shares ? stagedRoot : script.root;
  const inRoot = (path: string) => quoteShell(path === "/" ? root : `${root}${path}`);
  return [
    "set -e",
    // Tools that run inside before privileges are dropped must not load the image's locales.
    "export LC_ALL=C",
    // 0 stands for the writing process.
    ...script.cgroupDirs.map((dir) => `echo 0 > ${quoteShell(`${dir}/cgroup.procs`)}`),
    ...(spec.oomScoreAdj === undefined
      ? []
      : [`echo ${Math.max(spec.oomScoreAdj, facts.oomScoreAdjFloor ?? -1000)} > /proc/self/oom_score_adj`]),
    ...(spec.hostname && spec.namespaces.uts !== "host"
      ? [`echo ${quoteShell(spec.hostname)} > /proc/sys/kernel/hostname`]
      : []),
    ...(shares ? stageLines : []),
    `mount --rbind --make-rprivate ${quoteShell(spec.rootfs)} ${quoteShell(root)}`,
    ...mounts.flatMap((mount) => [
      ...mountLines(mount, inRoot),
      ...(mount.kind === "filesystem" && mount.target === "/dev" ? deviceLines(script, inRoot) : []),
      ...(mount.kind === "filesystem" && mount.target === "/proc" ? sysctlLines(spec, inRoot) : []),
    ]),
    ...[toolsInside, oldRoot].map((path) => `[ -d ${inRoot(path)} ] || mkdir -p ${inRoot(path)}`),
    `mount --bind --make-private -o ro,nosuid,nodev ${quoteShell(toolsDir)} ${inRoot(toolsInside)}`,
    // The host's terminal has no name in the container's devpts.
    ...(spec.terminal
      ? [`: > ${inRoot("/dev/console")}`, `mount --bind --make-private "$(tty)" ${inRoot("/dev/console")}`]
      : []),
    ...(spec.readonlyRootfs ? [`mount -o remount,bind,ro ${quoteShell(root)}`] : []),
    `pivot_root ${quoteShell(root)} ${inRoot(oldRoot)}`,
    "cd /",
    // -i: a helper for a type of file system would be one of the image's programs.
    ...(shares ? [`${insideTool("mount").join(" ")} -i --make-rslave ${oldRoot}`] : []),
    `${insideTool("umount").join(" ")} -i -l ${oldRoot}`,
    `${insideTool("rmdir").join(" ")} ${oldRoot}`,
    "echo ready >&4",
    "read go <&3",
    `exec ${insideCommand(spec, facts).map(quoteShell).join(" ")} 2>&8 3>&- 4>&- 8>&-`,
    "",
  ].join("\n");
}

const stagedRoot = "/proc/fs/root";

/**
 * While mounts are still the host's, a mount on a shared mount appears on the host, and so does its removal. So the
 * root is assembled on a private mount, at a path that is a mount everywhere and not a volume. It is unbindable,
 * because a volume of the whole machine would otherwise contain it; the old root becomes a slave before it is
 * unmounted.
 */
const stageLines = [
  "mount --make-rprivate /proc",
  "mount -t tmpfs --make-unbindable tmpfs /proc/fs",
  `mkdir ${stagedRoot}`,
];

function mountLines(mount: HostMount, inRoot: (path: string) => string): string[] {
  const target = inRoot(mount.target);
  switch (mount.kind) {
    case "filesystem":
      return [`mount -t ${mount.type} -o ${quoteShell(mount.options)} ${mount.type} ${target}`];
    case "bind":
      return bindLines(mount, inRoot);
    case "cover":
      return mount.with === "readonly"
        ? [
            `if [ -e ${target} ]; then mount --rbind ${target} ${target}; mount -o remount,bind,ro ${target}; fi`,
          ]
        : [
            `if [ -d ${target} ]; then mount -t tmpfs -o ro,size=0 tmpfs ${target}`,
            `elif [ -e ${target} ]; then mount --bind --make-private /dev/null ${target}; fi`,
          ];
  }
}

function deviceLines({ facts, devDir }: InitScript, inRoot: (path: string) => string): string[] {
  const asked = facts.devices.filter(({ path }) => path.startsWith("/dev/"));
  return [
    `cp -a ${quoteShell(`${devDir}/.`)} ${inRoot("/dev")}`,
    ...asked.flatMap(({ path, type, major, minor, fileMode, uid, gid }) => [
      `mkdir -p ${inRoot(path.slice(0, path.lastIndexOf("/")))}`,
      `rm -f ${inRoot(path)}`,
      `mknod -m ${(fileMode ?? 0o666).toString(8)} ${inRoot(path)} ${type} ${major} ${minor}`,
      `chown ${uid ?? 0}:${gid ?? 0} ${inRoot(path)}`,
    ]),
  ];
}

function sysctlLines(spec: ContainerSpec, inRoot: (path: string) => string): string[] {
  return Object.entries(spec.sysctls).map(
    ([name, value]) => `echo ${quoteShell(value)} > ${inRoot(`/proc/sys/${name.replaceAll(".", "/")}`)}`,
  );
}

/** Command line that drops privileges, changes directory and runs the program; also used by `exec`. */
export function insideCommand(
  spec: ContainerSpec,
  facts: Pick<OciFacts, "capabilities">,
  args: readonly string[] = spec.args,
): string[] {
  const capabilities = decideCapabilities(spec.security, facts.capabilities);
  const { uid, gid, additionalGids } = spec.user;
  return [
    ...insideTool("setpriv"),
    // With a sign: setpriv treats a plain number as a name first, and the image may have such a user.
    `--reuid=+${uid}`,
    `--regid=+${gid}`,
    additionalGids.length > 0
      ? `--groups=${additionalGids.map((id) => `+${id}`).join(",")}`
      : "--clear-groups",
    `--bounding-set=${["-all", ...capabilities.map((name) => `+${name.toLowerCase()}`)].join(",")}`,
    "--inh-caps=-all",
    ...(spec.security.noNewPrivileges ? ["--no-new-privs"] : []),
    "--",
    ...insideTool("env"),
    ...["-i", "-C", spec.workingDir || "/", "--"],
    // An entry without a name would be treated as the program.
    ...completeEnv(spec).filter((entry) => entry.indexOf("=") > 0),
    ...args,
  ];
}

const namespaceFlags = { network: "net", ipc: "ipc", uts: "uts", pid: "pid" } as const;

/** Script that enters and creates namespaces and runs the init script in them, with its errors in a separate file. */
export function buildLaunchScript(spec: ContainerSpec, files: { init: string; complaints: string }): string {
  const joined = flags(spec.namespaces, (place) => place !== "new" && place !== "host");
  const made = flags(spec.namespaces, (place) => place === "new");
  const words = [
    ...limits(spec),
    ...(joined.length > 0 ? ["nsenter", ...joined.map(([flag, path]) => `--${flag}=${path}`)] : []),
    // Slave: mounts of the host propagate into the container but not back. A volume that shares back needs the host's
    // mount; the init script handles the rest.
    ...["unshare", "--mount", "--propagation", hasBidirectionalMount(spec) ? "unchanged" : "slave"],
    ...["--fork", "--kill-child"],
    ...made.map(([flag]) => `--${flag}`),
    ...["sh", files.init],
  ];
  return `exec ${words.map(quoteShell).join(" ")} 8>&2 2>>${quoteShell(files.complaints)}\n`;
}

/** Whether a mount inside the container must appear on the host. */
function hasBidirectionalMount({ mounts }: Pick<ContainerSpec, "mounts">): boolean {
  return mounts.some(({ propagation }) => propagation === "bidirectional");
}

function flags(namespaces: Namespaces, wanted: (place: string) => boolean): [string, string][] {
  return Object.entries(namespaceFlags).flatMap(([kind, flag]): [string, string][] => {
    const place = namespaces[kind as keyof Namespaces];
    return wanted(place) ? [[flag, place]] : [];
  });
}

function limits(spec: ContainerSpec): string[] {
  const rlimits = spec.rlimits ?? [];
  if (rlimits.length === 0) return [];
  const option = (type: string) => type.replace(/^RLIMIT_/, "").toLowerCase();
  return ["prlimit", ...rlimits.map(({ type, soft, hard }) => `--${option(type)}=${soft}:${hard}`)];
}
