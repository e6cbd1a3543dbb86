import { quoteShell } from "../../../lib/quote-shell.ts";
import type { ContainerSpec, Namespaces } from "../driver.ts";

const namespaceFlags = { network: "net", ipc: "ipc", uts: "uts", pid: "pid" } as const;

/** Enters and makes namespaces, then runs the init script in them, with its complaints in a file of their own. */
export function buildLaunchScript(spec: ContainerSpec, files: { init: string; complaints: string }): string {
  const joined = flags(spec.namespaces, (place) => place !== "new" && place !== "host");
  const made = flags(spec.namespaces, (place) => place === "new");
  const words = [
    ...limits(spec),
    ...(joined.length > 0 ? ["nsenter", ...joined.map(([flag, path]) => `--${flag}=${path}`)] : []),
    // Slave: mounts of the host come in where they are wanted, none goes out. A volume that shares back has to find its
    // mount as the host has it; the init script sees to the rest.
    ...["unshare", "--mount", "--propagation", sharesBack(spec) ? "unchanged" : "slave"],
    ...["--fork", "--kill-child"],
    ...made.map(([flag]) => `--${flag}`),
    ...["sh", files.init],
  ];
  return `exec ${words.map(quoteShell).join(" ")} 8>&2 2>>${quoteShell(files.complaints)}\n`;
}

/** Whether some mount inside shall show on the host. */
export function sharesBack({ mounts }: Pick<ContainerSpec, "mounts">): boolean {
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
