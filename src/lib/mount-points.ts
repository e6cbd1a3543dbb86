import { readFile } from "node:fs/promises";

/** In the order in which they can be unmounted: what is inside before what it is in, and the upper of two on one place first. */
export function mountPointsBelow(mountInfo: string, directory: string): string[] {
  return mountInfo
    .split("\n")
    .map((line) => unescapeOctal(line.split(" ")[4] ?? ""))
    .filter((point) => point === directory || point.startsWith(`${directory}/`))
    .reverse()
    .sort((a, b) => b.length - a.length);
}

export async function readMountInfo(): Promise<string> {
  return readFile("/proc/self/mountinfo", "utf8");
}

/** The kernel writes space, tab, newline and backslash as octal. */
export function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_match, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
