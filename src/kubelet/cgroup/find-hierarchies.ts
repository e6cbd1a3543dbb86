/** Where the kernel shows cgroups on this machine. */
export interface CgroupHierarchies {
  readonly version: 1 | 2;
  /** Mount points of those that have limits of ours. */
  readonly cpu: string;
  readonly memory: string;
  /** Every mount point: runtimes make a cgroup in each. */
  readonly roots: readonly string[];
}

/** From the text of /proc/self/mountinfo; undefined where processor or memory cannot be limited. */
export function findHierarchies(mountinfo: string): CgroupHierarchies | undefined {
  const version1 = new Map<string, string>();
  const roots = new Set<string>();
  let unified: string | undefined;
  for (const line of mountinfo.split("\n")) {
    const [before, after] = line.split(" - ");
    const mountPoint = before?.split(" ")[4];
    const [type, , options = ""] = after?.split(" ") ?? [];
    if (!mountPoint || (type !== "cgroup" && type !== "cgroup2")) continue;
    roots.add(mountPoint);
    if (type === "cgroup2") unified ??= mountPoint;
    else for (const option of options.split(",")) if (!version1.has(option)) version1.set(option, mountPoint);
  }
  const all = { roots: [...roots] };
  // Beside hierarchies of version 1 the unified one has no controllers.
  if (version1.size === 0) return unified ? { version: 2, cpu: unified, memory: unified, ...all } : undefined;
  const [cpu, memory] = [version1.get("cpu"), version1.get("memory")];
  return cpu && memory ? { version: 1, cpu, memory, ...all } : undefined;
}
