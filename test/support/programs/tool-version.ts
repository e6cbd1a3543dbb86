/** Returns the first version number in a program's output: `1.32.4` for `Client Version: v1.32.4-dispatcher`. */
export function parseVersion(output: string): string | undefined {
  return /\d+\.\d+(\.\d+)*/.exec(output)?.[0];
}

/** Compares versions number by number, so that 1.100 is newer than 1.36. A missing number counts as 0. */
export function isAtLeast(version: string, oldest: string): boolean {
  const numbers = version.split(".").map(Number);
  const wanted = oldest.split(".").map(Number);
  for (let i = 0; i < wanted.length; i++) {
    const difference = (numbers[i] ?? 0) - (wanted[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** What is known about a tool on this machine. */
export interface ToolFacts {
  /** Undefined if the tool is not installed. */
  readonly path: string | undefined;
  /** Undefined if the program does not run or prints no version. */
  readonly version: string | undefined;
  readonly isRoot: boolean;
}

export interface ToolNeeds {
  /** Command that installs the tool. */
  readonly install: string;
  /** Oldest version that the tests support. Without it any version will do. */
  readonly oldest?: string;
  /** Set for tools that tests can use only as root. */
  readonly needsRoot?: true;
}

/** Returns why tests that use the tool are skipped, or undefined if they run. */
export function explainSkip(
  name: string,
  { install, oldest, needsRoot }: ToolNeeds,
  { path, version, isRoot }: ToolFacts,
): string | undefined {
  if (!path) return `needs ${name}: ${install}`;
  if (needsRoot && !isRoot) return "needs root";
  if (!oldest) return undefined;
  if (!version) return `needs ${name} ${oldest}: ${path} prints no version`;
  if (!isAtLeast(version, oldest)) return `needs ${name} ${oldest} or newer: ${path} is ${version}`;
  return undefined;
}
