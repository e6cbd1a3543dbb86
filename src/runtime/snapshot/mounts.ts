import { readFile } from "node:fs/promises";

/** The mount points of a mountinfo text that lie in a directory, innermost first. */
export function mountPointsBelow(mountInfo: string, directory: string): string[] {
  return mountInfo
    .split("\n")
    .map((line) => unescapeOctal(line.split(" ")[4] ?? ""))
    .filter((point) => point === directory || point.startsWith(`${directory}/`))
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
