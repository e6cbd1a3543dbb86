import { posix } from "node:path";
import { quoteShell } from "../../../lib/quote-shell.ts";
import { decideCapabilities } from "../capabilities.ts";
import type { ContainerSpec } from "../driver.ts";
import { completeEnv, type OciFacts } from "../oci/build-oci-config.ts";
import { sharesBack } from "./build-launch-script.ts";
import { insideTool } from "./host-tools.ts";
import { type HostMount, oldRoot } from "./plan-host-mounts.ts";
import { toolsInside } from "./seal-program.ts";

export interface InitScript {
  readonly spec: ContainerSpec;
  readonly facts: OciFacts;
  readonly mounts: readonly HostMount[];
  /** An empty directory of the host on which the root is put together. */
  readonly root: string;
  readonly toolsDir: string;
  /** What every container has in /dev. */
  readonly devDir: string;
  readonly cgroupDirs: readonly string[];
}

/**
 * What turns a shell in fresh namespaces into the container's program. Descriptor 3 says when to go on, 4 is told
 * that all is ready; both are closed before the program runs. Every word that comes from outside is quoted.
 */
export function buildInitScript(script: InitScript): string {
  const { spec, facts, mounts, toolsDir } = script;
  const shares = sharesBack(spec);
  const root = shares ? stagedRoot : script.root;
  const inRoot = (path: string) => quoteShell(path === "/" ? root : `${root}${path}`);
  return [
    "set -e",
    // What runs inside before privileges are dropped must not go looking for the image's locales.
    "export LC_ALL=C",
    // The number 0 stands for who writes it.
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
    // The host's terminal has no name among the container's own.
    ...(spec.terminal
      ? [`: > ${inRoot("/dev/console")}`, `mount --bind --make-private "$(tty)" ${inRoot("/dev/console")}`]
      : []),
    ...(spec.readonlyRootfs ? [`mount -o remount,bind,ro ${quoteShell(root)}`] : []),
    `pivot_root ${quoteShell(root)} ${inRoot(oldRoot)}`,
    "cd /",
    // By itself: a helper for a type of file system would be one of the image's programs.
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
 * Where mounts are still the host's own, one made on a shared mount shows on the host, and one taken away goes there too.
 * So the root is put together on a private mount, in the one place that is a mount everywhere and no volume. It cannot be
 * bound, or a volume of the whole machine would have it inside; the old root becomes a slave before it is let go.
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
      return [
        // The new /dev is empty: what is bound there needs a place of its own kind.
        ...(mount.target.startsWith("/dev/")
          ? [
              `if [ -d ${quoteShell(mount.source)} ]; then mkdir -p ${target}`,
              `else mkdir -p ${inRoot(posix.dirname(mount.target))}; [ -e ${target} ] || : > ${target}; fi`,
            ]
          : []),
        `mount --rbind --make-${mount.propagation} ${mount.readonly ? "-o ro " : ""}${quoteShell(mount.source)} ${target}`,
        ...(mount.readonly && mount.recursiveReadonly
          ? [
              `findmnt -Rnlo TARGET ${target} | while IFS= read -r each; do mount -o remount,bind,ro "$each"; done`,
            ]
          : []),
      ];
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

/** The words that drop privileges, change directory and become the program; also how `exec` enters. */
export function insideCommand(
  spec: ContainerSpec,
  facts: Pick<OciFacts, "capabilities">,
  args: readonly string[] = spec.args,
): string[] {
  const capabilities = decideCapabilities(spec.security, facts.capabilities);
  const { uid, gid, additionalGids } = spec.user;
  return [
    ...insideTool("setpriv"),
    // With a sign: setpriv takes a plain number for a name first, and the image may have somebody of that name.
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
    // An entry without a name would be taken for the program.
    ...completeEnv(spec).filter((entry) => entry.indexOf("=") > 0),
    ...args,
  ];
}
