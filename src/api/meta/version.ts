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
