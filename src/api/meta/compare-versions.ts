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
