import { accessSync, constants } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { describe, type TestOptions } from "vitest";

/** What scripts/install-test-tools.sh puts aside. Tests and benchmarks run in the package's folder. */
const toolsFolder = resolve(".tools");

/** The programs that some tests need, with the Debian package that has each. */
const packages = {
  busybox: "busybox-static",
  conmon: "conmon",
  containerd: "containerd",
  "containerd-2": "containerd",
  etcd: "etcd-server",
  kubectl: "kubectl",
  "kubectl-older": "kubectl",
  runc: "runc",
  ip: "iproute2",
  iptables: "iptables",
  "cni-plugins": "containernetworking-plugins",
  chromium: "chromium",
  "docker-registry": "docker-registry",
  prometheus: "prometheus",
  promtool: "prometheus",
  skopeo: "skopeo",
  umoci: "umoci",
} as const;

export type ToolName = keyof typeof packages;

/** Tools that are not commands: a file that shows they are there. */
const otherPlaces: Partial<Record<ToolName, readonly string[]>> = {
  "cni-plugins": ["/usr/lib/cni/bridge", "/opt/cni/bin/bridge"],
  "containerd-2": [join(toolsFolder, "containerd-2/usr/bin/containerd")],
};

/** KINDLING_REQUIRED_TOOLS names the tools that must be present: CI sets it, so that a missing part fails there. */
const required = new Set((process.env.KINDLING_REQUIRED_TOOLS ?? "").split(",").filter(Boolean));

/** A `describe` whose tests are skipped, visibly and by name, where the tool is missing. */
export function describeWithTool(
  tool: ToolName,
  name: string,
  body: () => void,
  options: TestOptions = {},
): void {
  if (findTool(tool) || required.has(tool)) describe(name, options, body);
  else describe.skip(`${name} [needs ${tool}: apt-get install ${packages[tool]}]`, body);
}

export function hasTool(tool: ToolName): boolean {
  return findTool(tool) !== undefined;
}

export function toolPath(tool: ToolName): string {
  const path = findTool(tool);
  if (!path) throw new Error(`${tool} is not on the PATH: apt-get install ${packages[tool]}`);
  return path;
}

function findTool(tool: ToolName): string | undefined {
  const folders = [join(toolsFolder, "bin"), ...(process.env.PATH ?? "").split(delimiter)];
  const paths = otherPlaces[tool] ?? folders.map((folder) => join(folder, tool));
  return paths.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
