import packageJson from "../../../package.json" with { type: "json" };

/** Kubernetes version of the API. Clients compare it with their own. */
const kubernetes = { major: "1", minor: "36" };

export const versionInfo = {
  ...kubernetes,
  emulationMajor: kubernetes.major,
  emulationMinor: kubernetes.minor,
  minCompatibilityMajor: kubernetes.major,
  minCompatibilityMinor: String(Number(kubernetes.minor) - 1),
  gitVersion: `v${kubernetes.major}.${kubernetes.minor}.0+kindling-${packageJson.version}`,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: `node${process.versions.node}`,
  compiler: "v8",
  platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
};

/** Whether the version that an API server or kubelet reports is that of Kindling. */
export function isKindlingVersion(gitVersion: string): boolean {
  return gitVersion.includes("+kindling-");
}

/** Order of versions in discovery: v2, v1, v2beta1, v1beta1, v1alpha1, then others by name. */
export function compareVersions(a: string, b: string): number {
  const left = parseVersion(a);
  const right = parseVersion(b);
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : 1;
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor;
}

function parseVersion(version: string): { stability: number; major: number; minor: number } | undefined {
  const match = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version);
  if (!match) return undefined;
  const [, major, phase, minor = "0"] = match;
  const stability = phase === "alpha" ? 0 : phase === "beta" ? 1 : 2;
  return { stability, major: Number(major), minor: Number(minor) };
}
