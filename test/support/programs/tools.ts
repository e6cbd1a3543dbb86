import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { describe, type TestOptions } from "vitest";
import { runsSlowTests, slowName } from "../fuzz/rounds.ts";
import { explainSkip, isAtLeast, parseVersion, type ToolNeeds } from "./tool-version.ts";

/** Folder that scripts/install-test-tools.sh fills. Tests and benchmarks run in the package's folder. */
const toolsFolder = resolve(".tools");

/** `KINDLING_TEST_TOOLS=path` ignores .tools, as on a machine where the installer has not run. */
const usesToolsFolder = process.env.KINDLING_TEST_TOOLS !== "path";

const installer = "bash scripts/install-test-tools.sh";
const fromPackage = (name: string) => `apt-get install ${name}`;
const forContainers = { needsRoot: true } as const;
/** Oldest kubectl that has every command and flag in the tests. */
const oldestKubectl = { oldest: "1.32" };

const tools = {
  busybox: { install: fromPackage("busybox-static"), ...forContainers },
  chromium: { install: fromPackage("chromium") },
  "cni-plugins": { install: fromPackage("containernetworking-plugins"), ...forContainers },
  conmon: { install: fromPackage("conmon"), ...forContainers },
  conntrack: { install: fromPackage("conntrack"), ...forContainers },
  containerd: { install: fromPackage("containerd"), ...forContainers, oldest: "1.6" },
  "containerd-2": { install: installer, ...forContainers, oldest: "2.0" },
  "docker-registry": { install: fromPackage("docker-registry") },
  etcd: { install: fromPackage("etcd-server"), oldest: "3.4" },
  ip: { install: fromPackage("iproute2"), ...forContainers },
  iptables: { install: fromPackage("iptables"), ...forContainers },
  kubectl: { install: fromPackage("kubectl"), ...oldestKubectl },
  "kubectl-older": { install: installer, ...oldestKubectl },
  nft: { install: fromPackage("nftables"), ...forContainers },
  openssl: { install: fromPackage("openssl"), oldest: "3.0" },
  prometheus: { install: fromPackage("prometheus") },
  promtool: { install: fromPackage("prometheus") },
  runc: { install: fromPackage("runc"), ...forContainers },
  skopeo: { install: fromPackage("skopeo") },
  umoci: { install: fromPackage("umoci") },
} as const satisfies Record<string, ToolNeeds>;

export type ToolName = keyof typeof tools;

/** Tools that tests use together with another. */
const companions: Partial<Record<ToolName, readonly ToolName[]>> = {
  conmon: ["runc"],
  containerd: ["runc", "cni-plugins"],
  "containerd-2": ["runc", "cni-plugins"],
  "docker-registry": ["skopeo"],
  nft: ["conntrack"],
  runc: ["busybox"],
  skopeo: ["umoci"],
};

/** Tools that are not commands: files that show that they are installed. */
const otherPlaces: Partial<Record<ToolName, readonly string[]>> = {
  "cni-plugins": ["/usr/lib/cni/bridge", "/opt/cni/bin/bridge"],
  "containerd-2": usesToolsFolder ? [join(toolsFolder, "containerd-2/usr/bin/containerd")] : [],
};

/** KINDLING_REQUIRED_TOOLS names the tools that must be present: CI sets it, so that a missing part fails there. */
const required = new Set((process.env.KINDLING_REQUIRED_TOOLS ?? "").split(",").filter(Boolean));

export const isRoot = process.getuid?.() === 0;

/** A `describe` whose tests are skipped, with the reason in their name, where they cannot use the tool. */
export function describeWithTool(
  tool: ToolName,
  name: string,
  body: () => void,
  options: TestOptions = {},
): void {
  const reason = required.has(tool) ? undefined : skipReason(tool);
  if (reason) describe.skip(`${name} [${reason}]`, body);
  else if (!required.has(tool) && !runsSlowTests && isSecondVersion(tool))
    describe.skip(slowName(name), body);
  else describe(name, options, body);
}

/** Whether the same tests also run with another version of the tool: repeating them is for CI. */
function isSecondVersion(tool: ToolName): boolean {
  const newer = newerVersions[tool];
  return newer !== undefined && hasTool(newer);
}

/** Whether tests can use the tool and its companions. */
export function hasTool(tool: ToolName): boolean {
  return skipReason(tool) === undefined;
}

export function toolPath(tool: ToolName): string {
  const path = findTool(tool);
  if (!path) throw new Error(`${tool} is not installed: ${tools[tool].install}`);
  return path;
}

/** Whether the tool is of this version or newer, for tests whose expectations depend on it. */
export function isToolAtLeast(tool: ToolName, oldest: string): boolean {
  const version = toolVersion(tool);
  return version !== undefined && isAtLeast(version, oldest);
}

const newerVersions: Partial<Record<ToolName, ToolName>> = {
  "kubectl-older": "kubectl",
  containerd: "containerd-2",
};

const versionArguments: Partial<Record<ToolName, readonly string[]>> = {
  kubectl: ["version", "--client"],
  "kubectl-older": ["version", "--client"],
  openssl: ["version"],
};

const versions = new Map<ToolName, string | undefined>();

/** Version that the program prints, such as `1.32.4`. Undefined if it is missing or does not run. */
export function toolVersion(tool: ToolName): string | undefined {
  if (!versions.has(tool)) versions.set(tool, askVersion(tool));
  return versions.get(tool);
}

function askVersion(tool: ToolName): string | undefined {
  const path = findTool(tool);
  if (!path) return undefined;
  const args = versionArguments[tool] ?? ["--version"];
  try {
    return parseVersion(
      execFileSync(path, args, { encoding: "utf8", timeout: 60_000, stdio: ["ignore", "pipe", "ignore"] }),
    );
  } catch {
    return undefined;
  }
}

function skipReason(tool: ToolName): string | undefined {
  const needs: ToolNeeds = tools[tool];
  const version = needs.oldest && toolVersion(tool);
  const reason = explainSkip(tool, needs, { path: findTool(tool), version, isRoot });
  return reason ?? companions[tool]?.map(skipReason).find(Boolean);
}

function findTool(tool: ToolName): string | undefined {
  const ownFolder = usesToolsFolder ? [join(toolsFolder, "bin")] : [];
  const folders = [...ownFolder, ...(process.env.PATH ?? "").split(delimiter)];
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
