import { readFile } from "node:fs/promises";

/** Mount points in a directory, in unmount order: nested before outer, and the topmost of several on one path first. */
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

/** Decodes the octal escapes of space, tab, newline and backslash in mountinfo. */
export function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_match, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
