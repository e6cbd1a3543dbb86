import { type FunctionDeclaration, fn, type Implementation, member, nameType } from "../functions.ts";
import { structType } from "../type.ts";
import { CelError, CelObject, type Value } from "../values.ts";

export const semverType = nameType("semver", structType("kubernetes.Semver"));

class Semver extends CelObject {
  readonly type = semverType;
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly bigint[], prerelease: readonly string[]) {
    super();
    this.numbers = numbers;
    this.prerelease = prerelease;
  }

  equals(other: CelObject): boolean {
    return other instanceof Semver && compareVersions(this, other) === 0;
  }
}

const names = ["Major", "Minor", "Patch"];
const maxLength = 1_000;

/** Parses a version of semver.org, with the messages of the library that upstream uses. */
function parse(text: string): Semver | CelError {
  if (text === "") return new CelError("Version string empty");
  const parts = text.split(".", maxLength);
  if (parts.length < 3) return new CelError("No Major.Minor.Patch elements found");
  const rest = parts.slice(2).join(".");
  const [, patch = "", prerelease, build] = /^([^-+]*)(?:-([^+]*))?(?:\+(.*))?$/s.exec(rest) ?? [];
  const numbers: bigint[] = [];
  for (const [i, digits] of [parts[0] ?? "", parts[1] ?? "", patch].entries()) {
    const problem = numberProblem(digits, names[i] ?? "");
    if (problem) return new CelError(problem);
    numbers.push(BigInt(digits));
  }
  const labels = prerelease === undefined ? [] : prerelease.split(".");
  for (const label of [...labels, ...(build === undefined ? [] : build.split("."))]) {
    if (label === "")
      return new CelError(labels.includes(label) ? "Prerelease is empty" : "Build meta data is empty");
    if (!/^[0-9A-Za-z-]+$/.test(label))
      return new CelError(
        `Invalid character(s) found in ${labels.includes(label) ? "prerelease" : "build meta data"} "${label}"`,
      );
  }
  const padded = labels.find((label) => /^0\d+$/.test(label));
  if (padded !== undefined)
    return new CelError(`Numeric PreRelease version must not contain leading zeroes "${padded}"`);
  return new Semver(numbers, labels);
}

function numberProblem(digits: string, name: string): string | undefined {
  if (!/^\d+$/.test(digits)) {
    return digits === ""
      ? `strconv.ParseUint: parsing "": invalid syntax`
      : `Invalid character(s) found in ${name.toLowerCase()} number "${digits}"`;
  }
  if (digits.length > 1 && digits.startsWith("0"))
    return `${name} number must not contain leading zeroes "${digits}"`;
  return BigInt(digits) >= 1n << 64n
    ? `strconv.ParseUint: parsing "${digits}": value out of range`
    : undefined;
}

/** Parses a version that may have a `v`, missing numbers and leading zeros. */
function parseNormalized(text: string): Semver | CelError {
  const [first = "", second, ...others] = text.replace(/^v/, "").split(".", maxLength);
  const given = [
    first,
    ...(second === undefined ? [] : [second]),
    ...(others.length > 0 ? [others.join(".")] : []),
  ];
  const parts = given.map((part) =>
    part.length > 1 ? part.replace(/^0+(?=\d)/, "").replace(/^0+(?=\D)/, "0") : part,
  );
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? ""))
    return new CelError("short version cannot contain PreRelease/Build meta data");
  while (parts.length < 3) parts.push("0");
  return parse(parts.join("."));
}

function compareVersions(a: Semver, b: Semver): number {
  for (const [i, number] of a.numbers.entries()) {
    const other = b.numbers[i] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return Math.sign(b.prerelease.length) - Math.sign(a.prerelease.length);
  for (let i = 0; i < Math.min(a.prerelease.length, b.prerelease.length); i++) {
    const order = compareLabels(a.prerelease[i] ?? "", b.prerelease[i] ?? "");
    if (order !== 0) return order;
  }
  return Math.sign(a.prerelease.length - b.prerelease.length);
}

function compareLabels(a: string, b: string): number {
  const [isNumberA, isNumberB] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
  if (isNumberA) return BigInt(a) < BigInt(b) ? -1 : Number(BigInt(a) > BigInt(b));
  return a < b ? -1 : Number(a > b);
}

const parseArgs: Implementation = ([text, normalize = false]) =>
  normalize ? parseNormalized(text as string) : parse(text as string);
const isValid: Implementation = (args, meter) => parseArgs(args, meter) instanceof Semver;
const number =
  (index: number): Implementation =>
  ([version]) =>
    BigInt.asIntN(64, (version as Semver).numbers[index] ?? 0n);
const compared =
  (test: (order: number) => Value): Implementation =>
  ([a, b]) =>
    test(compareVersions(a as Semver, b as Semver));

/** Kubernetes' functions for semantic versions. */
export const semverFunctions: readonly FunctionDeclaration[] = [
  fn(
    "semver",
    ["string_to_semver", "string -> semver", parseArgs],
    ["string_bool_to_semver", "string, bool -> semver", parseArgs],
  ),
  fn(
    "isSemver",
    ["is_semver_string", "string -> bool", isValid],
    ["is_semver_string_bool", "string, bool -> bool", isValid],
  ),
  member("isGreaterThan", [
    "semver_is_greater_than",
    "semver, semver -> bool",
    compared((order) => order > 0),
  ]),
  member("isLessThan", ["semver_is_less_than", "semver, semver -> bool", compared((order) => order < 0)]),
  member("compareTo", ["semver_compare_to", "semver, semver -> int", compared((order) => BigInt(order))]),
  member("major", ["semver_major", "semver -> int", number(0)]),
  member("minor", ["semver_minor", "semver -> int", number(1)]),
  member("patch", ["semver_patch", "semver -> int", number(2)]),
];
